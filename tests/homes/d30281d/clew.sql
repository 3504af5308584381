BEGIN TRANSACTION;
CREATE TABLE adoptions (
    thread TEXT PRIMARY KEY,
    runtime TEXT NOT NULL,
    session TEXT NOT NULL,
    last_turn TEXT,
    adopted_at BIGINT NOT NULL
);
CREATE TABLE answers (
    key TEXT PRIMARY KEY,
    digest TEXT NOT NULL,
    status BIGINT NOT NULL,
    media_type TEXT NOT NULL,
    body TEXT NOT NULL,
    at BIGINT NOT NULL
);
CREATE TABLE away (
    surface TEXT NOT NULL,
    address TEXT NOT NULL,
    since BIGINT NOT NULL
);
CREATE TABLE bindings (
    surface TEXT NOT NULL,
    address TEXT NOT NULL,
    thread TEXT NOT NULL,
    bound_at BIGINT NOT NULL, drives INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (surface, address)
);
CREATE TABLE continuity (
    thread TEXT NOT NULL,
    runtime TEXT NOT NULL,
    data TEXT,
    fork_data TEXT,
    fork_turn TEXT, status TEXT, used_at BIGINT, restarts BIGINT NOT NULL DEFAULT 0, trouble TEXT,
    PRIMARY KEY (thread, runtime)
);
INSERT INTO "continuity" VALUES('01M7NTY5ZAC0W92MKGEW7NV5SH','scripted','scripted-01M7NTY5ZAC0W92MKGEW7NV5SH',NULL,NULL,'cold',1794955483151,0,NULL);
INSERT INTO "continuity" VALUES('01M7NTY66RX7SMY1BDYSF0PC9X','scripted','scripted-01M7NTY66RX7SMY1BDYSF0PC9X',NULL,NULL,'warm',1794955483771,0,NULL);
INSERT INTO "continuity" VALUES('01M7NTY6PZMQ694SZCFQRRTKA1','scripted',NULL,'scripted-01M7NTY66RX7SMY1BDYSF0PC9X','01M7NTY6KQ472VWZ2VGQCBAHKA',NULL,NULL,0,NULL);
INSERT INTO "continuity" VALUES('01M7NTY6SNDQC3Z159HFZ31JKN','scripted','scripted-01M7NTY6SNDQC3Z159HFZ31JKN',NULL,NULL,'cold',1794955483966,0,NULL);
INSERT INTO "continuity" VALUES('01M7NTY7062ZKR9NA99CDVC4Q9','scripted','scripted-01M7NTY7062ZKR9NA99CDVC4Q9',NULL,NULL,'cold',1794955484176,0,NULL);
INSERT INTO "continuity" VALUES('01M7NTY72Y5B753Y49GYDV8C4B','scripted','scripted-01M7NTY72Y5B753Y49GYDV8C4B',NULL,NULL,'cold',1794955484260,0,NULL);
INSERT INTO "continuity" VALUES('01M7NTY76CMFXQMRBG9ZAJDEAR','scripted','scripted-01M7NTY76CMFXQMRBG9ZAJDEAR',NULL,NULL,'cold',1794955484369,0,NULL);
CREATE TABLE counters (
    name TEXT PRIMARY KEY,
    value BIGINT NOT NULL
);
INSERT INTO "counters" VALUES('fate.turn',8);
CREATE TABLE deliveries (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    thread TEXT NOT NULL,
    turn TEXT,
    surface TEXT,
    address TEXT,
    body TEXT NOT NULL,
    note TEXT NOT NULL,
    state TEXT NOT NULL,
    attempts BIGINT NOT NULL DEFAULT 0,
    due_at BIGINT NOT NULL,
    owner TEXT,
    generation BIGINT NOT NULL DEFAULT 0,
    in_doubt BIGINT NOT NULL DEFAULT 0,
    first_sent_at BIGINT,
    message_id TEXT,
    sent_at BIGINT,
    error TEXT,
    created_at BIGINT NOT NULL
, edits TEXT, buttons TEXT NOT NULL DEFAULT '[]', file TEXT);
INSERT INTO "deliveries" VALUES('01M7NTY5ZAFFVDKD4G4QP4AXYH:final','final','01M7NTY5ZAC0W92MKGEW7NV5SH','01M7NTY5ZAFFVDKD4G4QP4AXYH',NULL,NULL,'The first answer.','','no_target',0,1794955483156,NULL,0,0,NULL,NULL,NULL,NULL,1794955483156,NULL,'[]',NULL);
INSERT INTO "deliveries" VALUES('01M7NTY66R42NYC3CVR5HTPFNA:final','final','01M7NTY66RX7SMY1BDYSF0PC9X','01M7NTY66R42NYC3CVR5HTPFNA',NULL,NULL,'Hello from the past.','','no_target',0,1794955483403,NULL,0,0,NULL,NULL,NULL,NULL,1794955483403,NULL,'[]',NULL);
INSERT INTO "deliveries" VALUES('01M7NTY6KQ472VWZ2VGQCBAHKA:final','final','01M7NTY66RX7SMY1BDYSF0PC9X','01M7NTY6KQ472VWZ2VGQCBAHKA',NULL,NULL,'A second answer, with 中文.','','no_target',0,1794955483779,NULL,0,0,NULL,NULL,NULL,NULL,1794955483779,NULL,'[]',NULL);
INSERT INTO "deliveries" VALUES('01M7NTY6SP9V7STMD1W3640KDF:final','final','01M7NTY6SNDQC3Z159HFZ31JKN','01M7NTY6SP9V7STMD1W3640KDF','webhook','hook','For the hook.','','pending',0,1794955489333,NULL,3,0,1794955483982,NULL,NULL,'webhook hook at http://127.0.0.1:1 is out of reach: All connection attempts failed',1794955483978,NULL,'[]',NULL);
INSERT INTO "deliveries" VALUES('01M7NTY707X9N0VZ95V4CM1HF3:final','final','01M7NTY7062ZKR9NA99CDVC4Q9','01M7NTY707X9N0VZ95V4CM1HF3',NULL,NULL,'⚠ The model said 400.','','no_target',0,1794955484183,NULL,0,0,NULL,NULL,NULL,NULL,1794955484183,NULL,'[]',NULL);
CREATE TABLE gates (
    id TEXT PRIMARY KEY,
    code TEXT NOT NULL,
    thread TEXT NOT NULL,
    turn TEXT NOT NULL,
    ref TEXT NOT NULL,
    asked TEXT NOT NULL,
    subject TEXT NOT NULL,
    state TEXT NOT NULL,
    warning TEXT NOT NULL,
    answer TEXT,
    answered_by TEXT,
    why TEXT NOT NULL DEFAULT '',
    card TEXT,
    surface TEXT,
    address TEXT,
    carried BIGINT NOT NULL DEFAULT 0,
    reminded BIGINT NOT NULL DEFAULT 0,
    asked_at BIGINT NOT NULL,
    answered_at BIGINT,
    sent_at BIGINT,
    closed_at BIGINT
);
INSERT INTO "gates" VALUES('01M7NTY736RZQDJZ7QZCFS8R09','B3V7','01M7NTY72Y5B753Y49GYDV8C4B','01M7NTY72YH218SZS127PVHAQZ','scripted-01M7NTY72Y5B753Y49GYDV8C4B:01M7NTY72YH218SZS127PVHAQZ:0.0','{"kind":"command","title":"pytest -q","detail":"","folder":null,"reason":"","paths":[],"questions":[],"item":"scripted-01M7NTY72Y5B753Y49GYDV8C4B:01M7NTY72YH218SZS127PVHAQZ:0.0","blocking":true}','819f095c3c14a55486efab32d6cb8bf73d8d466d21ccf3e7b0d71ac4060aa738','open','',NULL,NULL,'',NULL,NULL,NULL,0,0,1794955484262,NULL,NULL,NULL);
INSERT INTO "gates" VALUES('01M7NTY76KMNHE6T92XH9G402B','C3X4','01M7NTY76CMFXQMRBG9ZAJDEAR','01M7NTY76CWRZ5J25XP9VC97F8','scripted-01M7NTY76CMFXQMRBG9ZAJDEAR:01M7NTY76CWRZ5J25XP9VC97F8:0.0','{"kind":"question","title":"Which colour?","detail":"","folder":null,"reason":"","paths":[],"questions":[{"id":"question","text":"Which colour?","options":["red","blue"],"free":true,"several":false,"secret":false}],"item":"scripted-01M7NTY76CMFXQMRBG9ZAJDEAR:01M7NTY76CWRZ5J25XP9VC97F8:0.0","blocking":true}','0949dda9e36833b5e48d5d0849cc9db4ee704b771594e455a9ee0c60e4d3e098','open','',NULL,NULL,'',NULL,NULL,NULL,0,0,1794955484371,NULL,NULL,NULL);
CREATE TABLE handoffs (
    id TEXT PRIMARY KEY,
    thread TEXT NOT NULL,
    surface TEXT NOT NULL,
    address TEXT,                    -- where it goes, or NULL for the home of the surface
    state TEXT NOT NULL,
    owner TEXT,
    generation INTEGER NOT NULL DEFAULT 0,
    asked_by TEXT NOT NULL,
    asked_in TEXT,                   -- the conversation, or NULL for the desk
    say TEXT NOT NULL,
    quiet INTEGER NOT NULL,
    requested_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    opening_at BIGINT,               -- a fresh thread of the platform was asked for, so there may be one
    opened TEXT,                     -- the conversation that it got, as the surface names it
    displaced TEXT,                  -- the thread that was bound there before
    displaced_drove INTEGER NOT NULL DEFAULT 0,
    former TEXT,                     -- the place that drove it before
    ended_at BIGINT,
    error TEXT
);
CREATE TABLE homes (
    surface TEXT PRIMARY KEY,
    address TEXT NOT NULL
);
CREATE TABLE inbox (
    surface TEXT NOT NULL,
    address TEXT NOT NULL,
    message_id TEXT NOT NULL,
    sender TEXT NOT NULL,
    fate TEXT NOT NULL,
    thread TEXT,
    turn TEXT,
    words TEXT NOT NULL,
    received_at BIGINT NOT NULL, pressed BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (surface, address, message_id)
);
INSERT INTO "inbox" VALUES('cli','','56fb791b8c874b320662c866e311bcba','you','turn','01M7NTY5ZAC0W92MKGEW7NV5SH','01M7NTY5ZAFFVDKD4G4QP4AXYH','',1794955483114,0);
INSERT INTO "inbox" VALUES('cli','','6cad50c9d089740f37231e8850197c6f','you','turn','01M7NTY66RX7SMY1BDYSF0PC9X','01M7NTY66R42NYC3CVR5HTPFNA','',1794955483352,0);
INSERT INTO "inbox" VALUES('cli','','b6c6d9363c5fec78e56f18c2a91fc63c','you','turn','01M7NTY66RX7SMY1BDYSF0PC9X','01M7NTY6KQ472VWZ2VGQCBAHKA','',1794955483767,0);
INSERT INTO "inbox" VALUES('cli','','4515194925696e745fae04b1b0bea841','you','turn','01M7NTY6SNDQC3Z159HFZ31JKN','01M7NTY6SP9V7STMD1W3640KDF','',1794955483958,0);
INSERT INTO "inbox" VALUES('cli','','408e5aed6a9c297ccbd135da5f57a3cd','you','turn','01M7NTY7062ZKR9NA99CDVC4Q9','01M7NTY707X9N0VZ95V4CM1HF3','',1794955484167,0);
INSERT INTO "inbox" VALUES('cli','','5f6fdb505da2e21700786867440ddf81','you','turn','01M7NTY72Y5B753Y49GYDV8C4B','01M7NTY72YH218SZS127PVHAQZ','',1794955484254,0);
INSERT INTO "inbox" VALUES('cli','','a6e7f6bdf336bdaa58302aee14f56e3b','you','turn','01M7NTY76CMFXQMRBG9ZAJDEAR','01M7NTY76CWRZ5J25XP9VC97F8','',1794955484364,0);
INSERT INTO "inbox" VALUES('cli','','44ce49e34be22a7a7960858c2f71569c','you','turn','01M7NTY72Y5B753Y49GYDV8C4B','01M7NTYA1CV14AS0XKQV8R50GF','Queued: it runs next. A question still waits for you: B3V7. `clew gates` shows it.',1794955487276,0);
CREATE TABLE items (
    turn TEXT NOT NULL,
    item TEXT NOT NULL,
    kind TEXT NOT NULL,
    phase TEXT NOT NULL,
    title TEXT NOT NULL,
    body TEXT NOT NULL,
    outcome TEXT,
    exit_code BIGINT,
    folder TEXT,
    position BIGINT NOT NULL,
    PRIMARY KEY (turn, item)
);
INSERT INTO "items" VALUES('01M7NTY72YH218SZS127PVHAQZ','scripted-01M7NTY72Y5B753Y49GYDV8C4B:01M7NTY72YH218SZS127PVHAQZ:0.0','command','started','pytest -q','',NULL,NULL,NULL,0);
INSERT INTO "items" VALUES('01M7NTY72YH218SZS127PVHAQZ','gate:scripted-01M7NTY72Y5B753Y49GYDV8C4B:01M7NTY72YH218SZS127PVHAQZ:0.0','gate','started','pytest -q','',NULL,NULL,NULL,1);
INSERT INTO "items" VALUES('01M7NTY76CWRZ5J25XP9VC97F8','gate:scripted-01M7NTY76CMFXQMRBG9ZAJDEAR:01M7NTY76CWRZ5J25XP9VC97F8:0.0','gate','started','Which colour?','',NULL,NULL,NULL,0);
CREATE TABLE log (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    thread TEXT NOT NULL,
    turn TEXT,
    kind TEXT NOT NULL,
    data TEXT NOT NULL,
    at BIGINT NOT NULL
);
INSERT INTO "log" VALUES(1,'01M7NTY5ZAC0W92MKGEW7NV5SH',NULL,'thread.created','{"thread_kind":"task","title":"Finished task"}',1794955483114);
INSERT INTO "log" VALUES(2,'01M7NTY5ZAC0W92MKGEW7NV5SH','01M7NTY5ZAFFVDKD4G4QP4AXYH','turn.queued','{"origin":"message"}',1794955483114);
INSERT INTO "log" VALUES(3,'01M7NTY5ZAC0W92MKGEW7NV5SH','01M7NTY5ZAFFVDKD4G4QP4AXYH','message.accepted','{"fate":"turn"}',1794955483115);
INSERT INTO "log" VALUES(4,'01M7NTY5ZAC0W92MKGEW7NV5SH','01M7NTY5ZAFFVDKD4G4QP4AXYH','turn.claimed','{"attempt":1}',1794955483128);
INSERT INTO "log" VALUES(5,'01M7NTY5ZAC0W92MKGEW7NV5SH','01M7NTY5ZAFFVDKD4G4QP4AXYH','turn.started','{}',1794955483151);
INSERT INTO "log" VALUES(6,'01M7NTY5ZAC0W92MKGEW7NV5SH','01M7NTY5ZAFFVDKD4G4QP4AXYH','turn.ended','{"state":"completed","error":null}',1794955483156);
INSERT INTO "log" VALUES(7,'01M7NTY5ZAC0W92MKGEW7NV5SH',NULL,'thread.status','{"status":"completed"}',1794955483157);
INSERT INTO "log" VALUES(8,'01M7NTY66RX7SMY1BDYSF0PC9X',NULL,'thread.created','{"thread_kind":"chat","title":"!text Hello from the past."}',1794955483352);
INSERT INTO "log" VALUES(9,'01M7NTY66RX7SMY1BDYSF0PC9X','01M7NTY66R42NYC3CVR5HTPFNA','turn.queued','{"origin":"message"}',1794955483352);
INSERT INTO "log" VALUES(10,'01M7NTY66RX7SMY1BDYSF0PC9X','01M7NTY66R42NYC3CVR5HTPFNA','message.accepted','{"fate":"turn"}',1794955483353);
INSERT INTO "log" VALUES(11,'01M7NTY66RX7SMY1BDYSF0PC9X','01M7NTY66R42NYC3CVR5HTPFNA','turn.claimed','{"attempt":1}',1794955483355);
INSERT INTO "log" VALUES(12,'01M7NTY66RX7SMY1BDYSF0PC9X','01M7NTY66R42NYC3CVR5HTPFNA','turn.started','{}',1794955483397);
INSERT INTO "log" VALUES(13,'01M7NTY66RX7SMY1BDYSF0PC9X','01M7NTY66R42NYC3CVR5HTPFNA','turn.ended','{"state":"completed","error":null}',1794955483403);
INSERT INTO "log" VALUES(14,'01M7NTY66RX7SMY1BDYSF0PC9X','01M7NTY6KQ472VWZ2VGQCBAHKA','turn.queued','{"origin":"message"}',1794955483767);
INSERT INTO "log" VALUES(15,'01M7NTY66RX7SMY1BDYSF0PC9X','01M7NTY6KQ472VWZ2VGQCBAHKA','message.accepted','{"fate":"turn"}',1794955483767);
INSERT INTO "log" VALUES(16,'01M7NTY66RX7SMY1BDYSF0PC9X','01M7NTY6KQ472VWZ2VGQCBAHKA','turn.claimed','{"attempt":1}',1794955483768);
INSERT INTO "log" VALUES(17,'01M7NTY66RX7SMY1BDYSF0PC9X','01M7NTY6KQ472VWZ2VGQCBAHKA','turn.started','{}',1794955483771);
INSERT INTO "log" VALUES(18,'01M7NTY66RX7SMY1BDYSF0PC9X','01M7NTY6KQ472VWZ2VGQCBAHKA','turn.ended','{"state":"completed","error":null}',1794955483779);
INSERT INTO "log" VALUES(19,'01M7NTY6PZMQ694SZCFQRRTKA1',NULL,'thread.created','{"thread_kind":"chat","title":"!text Hello from the past. (fork)","forked_from":"01M7NTY66RX7SMY1BDYSF0PC9X"}',1794955483871);
INSERT INTO "log" VALUES(20,'01M7NTY6SNDQC3Z159HFZ31JKN',NULL,'thread.created','{"thread_kind":"task","title":"Owes an answer"}',1794955483958);
INSERT INTO "log" VALUES(21,'01M7NTY6SNDQC3Z159HFZ31JKN','01M7NTY6SP9V7STMD1W3640KDF','turn.queued','{"origin":"message"}',1794955483958);
INSERT INTO "log" VALUES(22,'01M7NTY6SNDQC3Z159HFZ31JKN','01M7NTY6SP9V7STMD1W3640KDF','message.accepted','{"fate":"turn"}',1794955483958);
INSERT INTO "log" VALUES(23,'01M7NTY6SNDQC3Z159HFZ31JKN','01M7NTY6SP9V7STMD1W3640KDF','turn.claimed','{"attempt":1}',1794955483960);
INSERT INTO "log" VALUES(24,'01M7NTY6SNDQC3Z159HFZ31JKN','01M7NTY6SP9V7STMD1W3640KDF','turn.started','{}',1794955483966);
INSERT INTO "log" VALUES(25,'01M7NTY6SNDQC3Z159HFZ31JKN','01M7NTY6SP9V7STMD1W3640KDF','turn.ended','{"state":"completed","error":null}',1794955483978);
INSERT INTO "log" VALUES(26,'01M7NTY6SNDQC3Z159HFZ31JKN','01M7NTY6SP9V7STMD1W3640KDF','delivery.owed','{"surface":"webhook"}',1794955483978);
INSERT INTO "log" VALUES(27,'01M7NTY6SNDQC3Z159HFZ31JKN',NULL,'thread.status','{"status":"completed"}',1794955483978);
INSERT INTO "log" VALUES(28,'01M7NTY7062ZKR9NA99CDVC4Q9',NULL,'thread.created','{"thread_kind":"task","title":"Failed task"}',1794955484167);
INSERT INTO "log" VALUES(29,'01M7NTY7062ZKR9NA99CDVC4Q9','01M7NTY707X9N0VZ95V4CM1HF3','turn.queued','{"origin":"message"}',1794955484167);
INSERT INTO "log" VALUES(30,'01M7NTY7062ZKR9NA99CDVC4Q9','01M7NTY707X9N0VZ95V4CM1HF3','message.accepted','{"fate":"turn"}',1794955484167);
INSERT INTO "log" VALUES(31,'01M7NTY7062ZKR9NA99CDVC4Q9','01M7NTY707X9N0VZ95V4CM1HF3','turn.claimed','{"attempt":1}',1794955484169);
INSERT INTO "log" VALUES(32,'01M7NTY7062ZKR9NA99CDVC4Q9','01M7NTY707X9N0VZ95V4CM1HF3','turn.started','{}',1794955484176);
INSERT INTO "log" VALUES(33,'01M7NTY7062ZKR9NA99CDVC4Q9','01M7NTY707X9N0VZ95V4CM1HF3','turn.ended','{"state":"failed","error":"The model said 400."}',1794955484182);
INSERT INTO "log" VALUES(34,'01M7NTY7062ZKR9NA99CDVC4Q9',NULL,'thread.status','{"status":"suspended"}',1794955484183);
INSERT INTO "log" VALUES(35,'01M7NTY72Y5B753Y49GYDV8C4B',NULL,'thread.created','{"thread_kind":"task","title":"Waits for a yes"}',1794955484254);
INSERT INTO "log" VALUES(36,'01M7NTY72Y5B753Y49GYDV8C4B','01M7NTY72YH218SZS127PVHAQZ','turn.queued','{"origin":"message"}',1794955484254);
INSERT INTO "log" VALUES(37,'01M7NTY72Y5B753Y49GYDV8C4B','01M7NTY72YH218SZS127PVHAQZ','message.accepted','{"fate":"turn"}',1794955484254);
INSERT INTO "log" VALUES(38,'01M7NTY72Y5B753Y49GYDV8C4B','01M7NTY72YH218SZS127PVHAQZ','turn.claimed','{"attempt":1}',1794955484256);
INSERT INTO "log" VALUES(39,'01M7NTY72Y5B753Y49GYDV8C4B','01M7NTY72YH218SZS127PVHAQZ','turn.started','{}',1794955484260);
INSERT INTO "log" VALUES(40,'01M7NTY72Y5B753Y49GYDV8C4B','01M7NTY72YH218SZS127PVHAQZ','activity','{"item":"scripted-01M7NTY72Y5B753Y49GYDV8C4B:01M7NTY72YH218SZS127PVHAQZ:0.0","activity":"command","phase":"started","title":"pytest -q","outcome":null}',1794955484261);
INSERT INTO "log" VALUES(41,'01M7NTY72Y5B753Y49GYDV8C4B','01M7NTY72YH218SZS127PVHAQZ','gate.opened','{"gate":"01M7NTY736RZQDJZ7QZCFS8R09","code":"B3V7","asks":"command","title":"pytest -q"}',1794955484263);
INSERT INTO "log" VALUES(42,'01M7NTY76CMFXQMRBG9ZAJDEAR',NULL,'thread.created','{"thread_kind":"task","title":"Waits for a word"}',1794955484364);
INSERT INTO "log" VALUES(43,'01M7NTY76CMFXQMRBG9ZAJDEAR','01M7NTY76CWRZ5J25XP9VC97F8','turn.queued','{"origin":"message"}',1794955484364);
INSERT INTO "log" VALUES(44,'01M7NTY76CMFXQMRBG9ZAJDEAR','01M7NTY76CWRZ5J25XP9VC97F8','message.accepted','{"fate":"turn"}',1794955484364);
INSERT INTO "log" VALUES(45,'01M7NTY76CMFXQMRBG9ZAJDEAR','01M7NTY76CWRZ5J25XP9VC97F8','turn.claimed','{"attempt":1}',1794955484365);
INSERT INTO "log" VALUES(46,'01M7NTY76CMFXQMRBG9ZAJDEAR','01M7NTY76CWRZ5J25XP9VC97F8','turn.started','{}',1794955484369);
INSERT INTO "log" VALUES(47,'01M7NTY76CMFXQMRBG9ZAJDEAR','01M7NTY76CWRZ5J25XP9VC97F8','gate.opened','{"gate":"01M7NTY76KMNHE6T92XH9G402B","code":"C3X4","asks":"question","title":"Which colour?"}',1794955484371);
INSERT INTO "log" VALUES(48,'01M7NTY72Y5B753Y49GYDV8C4B','01M7NTYA1CV14AS0XKQV8R50GF','turn.queued','{"origin":"message"}',1794955487276);
INSERT INTO "log" VALUES(49,'01M7NTY72Y5B753Y49GYDV8C4B','01M7NTYA1CV14AS0XKQV8R50GF','message.accepted','{"fate":"turn"}',1794955487276);
CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
INSERT INTO "meta" VALUES('store','c296b08701e0');
CREATE TABLE nodes (
    hash TEXT PRIMARY KEY,
    type TEXT NOT NULL,
    prev TEXT,
    content TEXT NOT NULL
);
INSERT INTO "nodes" VALUES('39cbcaa3880beb874ae236c2542312d59a5f2eb680790fb2d4b2d42e475ee1e7','started',NULL,'{"at":1794955483114,"kind":"task","runtime":"scripted","thread":"01M7NTY5ZAC0W92MKGEW7NV5SH","workspace":"/srv/project"}');
INSERT INTO "nodes" VALUES('ad311692de621eb557f47080b532e2bad667c87990149e4617515759b501e4fa','spoken','39cbcaa3880beb874ae236c2542312d59a5f2eb680790fb2d4b2d42e475ee1e7','{"at":1794955483128,"author":"you","id":"56fb791b8c874b320662c866e311bcba","steer":false,"text":"!text The first answer.","turn":"01M7NTY5ZAFFVDKD4G4QP4AXYH"}');
INSERT INTO "nodes" VALUES('c0c88705c133547cb3cdbc76061904da3e2f545224a1a0b06702004c26af3926','outcome','ad311692de621eb557f47080b532e2bad667c87990149e4617515759b501e4fa','{"at":1794955483156,"runtime":"scripted","state":"completed","text":"The first answer.","turn":"01M7NTY5ZAFFVDKD4G4QP4AXYH","usage":{"cached_input_tokens":0,"input_tokens":10,"output_tokens":5,"reasoning_tokens":0,"total_tokens":15}}');
INSERT INTO "nodes" VALUES('e432aaf554c2e5c6ea3f81ba4fad31b588458d75c5664e84bf28399a8469a2dd','started',NULL,'{"at":1794955483352,"kind":"chat","runtime":"scripted","thread":"01M7NTY66RX7SMY1BDYSF0PC9X","workspace":"/srv/project"}');
INSERT INTO "nodes" VALUES('d09218b8ebef5eaabf4afce238027f7b4673a24561e19b636b08ad846b3ecc7a','spoken','e432aaf554c2e5c6ea3f81ba4fad31b588458d75c5664e84bf28399a8469a2dd','{"at":1794955483355,"author":"you","id":"6cad50c9d089740f37231e8850197c6f","steer":false,"text":"!text Hello from the past.","turn":"01M7NTY66R42NYC3CVR5HTPFNA"}');
INSERT INTO "nodes" VALUES('d0dc1ee7e650bc62ac5b137701e25400ade8f1cd15d8a4ad19960c0c52c51b6c','outcome','d09218b8ebef5eaabf4afce238027f7b4673a24561e19b636b08ad846b3ecc7a','{"at":1794955483403,"runtime":"scripted","state":"completed","text":"Hello from the past.","turn":"01M7NTY66R42NYC3CVR5HTPFNA","usage":{"cached_input_tokens":0,"input_tokens":10,"output_tokens":5,"reasoning_tokens":0,"total_tokens":15}}');
INSERT INTO "nodes" VALUES('bb10f84b8f8b45d57b340b782b8edd3a06a43bdc8a97cb7860624e20c820ec4d','spoken','d0dc1ee7e650bc62ac5b137701e25400ade8f1cd15d8a4ad19960c0c52c51b6c','{"at":1794955483768,"author":"you","id":"b6c6d9363c5fec78e56f18c2a91fc63c","steer":false,"text":"!text A second answer, with 中文.","turn":"01M7NTY6KQ472VWZ2VGQCBAHKA"}');
INSERT INTO "nodes" VALUES('0f7c43fa1eef2e2143458e549b36752f23c2f159b30aa714b165e8ae2f073835','outcome','bb10f84b8f8b45d57b340b782b8edd3a06a43bdc8a97cb7860624e20c820ec4d','{"at":1794955483779,"runtime":"scripted","state":"completed","text":"A second answer, with 中文.","turn":"01M7NTY6KQ472VWZ2VGQCBAHKA","usage":{"cached_input_tokens":0,"input_tokens":10,"output_tokens":5,"reasoning_tokens":0,"total_tokens":15}}');
INSERT INTO "nodes" VALUES('948c8840da84e3daa5718b01c1f7080b30886c7e2fe5e9c152fad19d29107f39','forked','0f7c43fa1eef2e2143458e549b36752f23c2f159b30aa714b165e8ae2f073835','{"at":1794955483871,"source":"01M7NTY66RX7SMY1BDYSF0PC9X","thread":"01M7NTY6PZMQ694SZCFQRRTKA1"}');
INSERT INTO "nodes" VALUES('336c892e211bdab1a6659da4e4e8863e4be478d9db5f3125ea495417b2eb3dae','started',NULL,'{"at":1794955483958,"kind":"task","runtime":"scripted","thread":"01M7NTY6SNDQC3Z159HFZ31JKN","workspace":"/srv/project"}');
INSERT INTO "nodes" VALUES('3022cdf05ef34c950d3d761e9610636fa25e8f89e443dcf8ebe44d611147865e','spoken','336c892e211bdab1a6659da4e4e8863e4be478d9db5f3125ea495417b2eb3dae','{"at":1794955483960,"author":"you","id":"4515194925696e745fae04b1b0bea841","steer":false,"text":"!text For the hook.","turn":"01M7NTY6SP9V7STMD1W3640KDF"}');
INSERT INTO "nodes" VALUES('13bf5b37039bff5a1066c100c939bb2c37b46b0955ca50f85216ef23c83834e2','outcome','3022cdf05ef34c950d3d761e9610636fa25e8f89e443dcf8ebe44d611147865e','{"at":1794955483978,"runtime":"scripted","state":"completed","text":"For the hook.","turn":"01M7NTY6SP9V7STMD1W3640KDF","usage":{"cached_input_tokens":0,"input_tokens":10,"output_tokens":5,"reasoning_tokens":0,"total_tokens":15}}');
INSERT INTO "nodes" VALUES('2ad4a879ffc04eac47aaabbe09b80e90fccbb6fcc4872633c28ca679d3fae098','started',NULL,'{"at":1794955484167,"kind":"task","runtime":"scripted","thread":"01M7NTY7062ZKR9NA99CDVC4Q9","workspace":"/srv/project"}');
INSERT INTO "nodes" VALUES('9fdffb2a013aa9eb7440ed8e7a3e4bad777252343ba9709a51c47d32f5ff5a39','spoken','2ad4a879ffc04eac47aaabbe09b80e90fccbb6fcc4872633c28ca679d3fae098','{"at":1794955484169,"author":"you","id":"408e5aed6a9c297ccbd135da5f57a3cd","steer":false,"text":"!status 400","turn":"01M7NTY707X9N0VZ95V4CM1HF3"}');
INSERT INTO "nodes" VALUES('252dd1a281a6813b3cff19e53a2e3e4dca300d233c3258b9d79748b57488087c','outcome','9fdffb2a013aa9eb7440ed8e7a3e4bad777252343ba9709a51c47d32f5ff5a39','{"at":1794955484182,"problem":{"code":"model","message":"The model said 400."},"runtime":"scripted","state":"failed","text":"","turn":"01M7NTY707X9N0VZ95V4CM1HF3","usage":{"cached_input_tokens":0,"input_tokens":10,"output_tokens":5,"reasoning_tokens":0,"total_tokens":15}}');
INSERT INTO "nodes" VALUES('ded01ace46c314e9925ef4da8d0503040ebc9f3c5e70fbbca12baa3f390635fd','started',NULL,'{"at":1794955484254,"kind":"task","runtime":"scripted","thread":"01M7NTY72Y5B753Y49GYDV8C4B","workspace":"/srv/project"}');
INSERT INTO "nodes" VALUES('13106c9541670fcf02a1dbaec90cc1994be2478441d7495bde628359b623b4bb','spoken','ded01ace46c314e9925ef4da8d0503040ebc9f3c5e70fbbca12baa3f390635fd','{"at":1794955484256,"author":"you","id":"5f6fdb505da2e21700786867440ddf81","steer":false,"text":"!approve pytest -q\n!text Tests were run.","turn":"01M7NTY72YH218SZS127PVHAQZ"}');
INSERT INTO "nodes" VALUES('e443c4d2960aeca644aa3b2c2acc8d508587faa792acd77149f11bcc4889227c','started',NULL,'{"at":1794955484364,"kind":"task","runtime":"scripted","thread":"01M7NTY76CMFXQMRBG9ZAJDEAR","workspace":"/srv/project"}');
INSERT INTO "nodes" VALUES('77be99a7b99961371d4c93a56f3822acbfb3c4e671bf2da84a56e12a8ebec7b9','spoken','e443c4d2960aeca644aa3b2c2acc8d508587faa792acd77149f11bcc4889227c','{"at":1794955484365,"author":"you","id":"a6e7f6bdf336bdaa58302aee14f56e3b","steer":false,"text":"!ask Which colour? | red | blue","turn":"01M7NTY76CWRZ5J25XP9VC97F8"}');
CREATE TABLE pairings (
    surface TEXT NOT NULL,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    address TEXT NOT NULL,
    code TEXT NOT NULL,
    asked_at BIGINT NOT NULL,
    PRIMARY KEY (surface, id)
);
CREATE TABLE people (
    surface TEXT NOT NULL,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    added_at BIGINT NOT NULL,
    added_by TEXT NOT NULL,
    PRIMARY KEY (surface, id)
);
CREATE TABLE places (
    surface TEXT NOT NULL,
    address TEXT NOT NULL,
    runtime TEXT,
    model TEXT,
    workspace TEXT, language TEXT,
    PRIMARY KEY (surface, address)
);
CREATE TABLE rules (
    id TEXT PRIMARY KEY,
    effect TEXT NOT NULL,
    kind TEXT NOT NULL,
    pattern TEXT NOT NULL,
    scope TEXT NOT NULL,
    place TEXT NOT NULL,
    until BIGINT,
    created_at BIGINT NOT NULL,
    created_by TEXT NOT NULL
);
INSERT INTO "rules" VALUES('01M7NTYA50NH98F8TECE0P0H3Q','deny','command','git push *','everywhere','',NULL,1794955487392,'you');
INSERT INTO "rules" VALUES('01M7NTYA7GZZDWADYQEMMJCFF3','allow','command','make lint','workspace','/srv/project',NULL,1794955487472,'you');
CREATE TABLE schema_version (version BIGINT PRIMARY KEY, applied_at BIGINT NOT NULL);
INSERT INTO "schema_version" VALUES(1,1794955482843);
INSERT INTO "schema_version" VALUES(2,1794955482844);
INSERT INTO "schema_version" VALUES(3,1794955482844);
INSERT INTO "schema_version" VALUES(4,1794955482844);
INSERT INTO "schema_version" VALUES(5,1794955482845);
INSERT INTO "schema_version" VALUES(6,1794955482845);
INSERT INTO "schema_version" VALUES(7,1794955482855);
INSERT INTO "schema_version" VALUES(8,1794955482856);
INSERT INTO "schema_version" VALUES(9,1794955482860);
INSERT INTO "schema_version" VALUES(10,1794955482860);
CREATE TABLE steers (
    surface TEXT NOT NULL,
    address TEXT NOT NULL,
    message_id TEXT NOT NULL,
    turn TEXT NOT NULL,
    thread TEXT NOT NULL,
    message TEXT NOT NULL,
    state TEXT NOT NULL,
    seq BIGINT NOT NULL,
    PRIMARY KEY (surface, address, message_id)
);
CREATE TABLE strangers (
    surface TEXT NOT NULL,
    id TEXT NOT NULL,
    told_at BIGINT NOT NULL,
    PRIMARY KEY (surface, id)
);
CREATE TABLE threads (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    title TEXT NOT NULL,
    runtime TEXT NOT NULL,
    workspace TEXT NOT NULL,
    model TEXT,
    effort TEXT,
    head TEXT,
    created_at BIGINT NOT NULL,
    completed_at BIGINT,
    suspended_by TEXT,
    suspend_message TEXT,
    notify_target TEXT,
    forked_from TEXT,
    last_turn TEXT,
    next_seq BIGINT NOT NULL DEFAULT 1024
, policy TEXT NOT NULL DEFAULT 'careful');
INSERT INTO "threads" VALUES('01M7NTY5ZAC0W92MKGEW7NV5SH','task','completed','Finished task','scripted','/srv/project',NULL,NULL,'c0c88705c133547cb3cdbc76061904da3e2f545224a1a0b06702004c26af3926',1794955483114,1794955483156,NULL,NULL,NULL,NULL,'01M7NTY5ZAFFVDKD4G4QP4AXYH',2048,'careful');
INSERT INTO "threads" VALUES('01M7NTY66RX7SMY1BDYSF0PC9X','chat','idle','!text Hello from the past.','scripted','/srv/project',NULL,NULL,'0f7c43fa1eef2e2143458e549b36752f23c2f159b30aa714b165e8ae2f073835',1794955483352,NULL,NULL,NULL,NULL,NULL,'01M7NTY6KQ472VWZ2VGQCBAHKA',3072,'careful');
INSERT INTO "threads" VALUES('01M7NTY6PZMQ694SZCFQRRTKA1','chat','idle','!text Hello from the past. (fork)','scripted','/srv/project',NULL,NULL,'948c8840da84e3daa5718b01c1f7080b30886c7e2fe5e9c152fad19d29107f39',1794955483871,NULL,NULL,NULL,NULL,'01M7NTY66RX7SMY1BDYSF0PC9X',NULL,1024,'careful');
INSERT INTO "threads" VALUES('01M7NTY6SNDQC3Z159HFZ31JKN','task','completed','Owes an answer','scripted','/srv/project',NULL,NULL,'13bf5b37039bff5a1066c100c939bb2c37b46b0955ca50f85216ef23c83834e2',1794955483958,1794955483978,NULL,NULL,'webhook:hook',NULL,'01M7NTY6SP9V7STMD1W3640KDF',2048,'careful');
INSERT INTO "threads" VALUES('01M7NTY7062ZKR9NA99CDVC4Q9','task','suspended','Failed task','scripted','/srv/project',NULL,NULL,'252dd1a281a6813b3cff19e53a2e3e4dca300d233c3258b9d79748b57488087c',1794955484167,NULL,'failure','The model said 400.',NULL,NULL,'01M7NTY707X9N0VZ95V4CM1HF3',2048,'careful');
INSERT INTO "threads" VALUES('01M7NTY72Y5B753Y49GYDV8C4B','task','idle','Waits for a yes','scripted','/srv/project',NULL,NULL,'13106c9541670fcf02a1dbaec90cc1994be2478441d7495bde628359b623b4bb',1794955484254,NULL,NULL,NULL,NULL,NULL,NULL,3072,'careful');
INSERT INTO "threads" VALUES('01M7NTY76CMFXQMRBG9ZAJDEAR','task','idle','Waits for a word','scripted','/srv/project',NULL,NULL,'77be99a7b99961371d4c93a56f3822acbfb3c4e671bf2da84a56e12a8ebec7b9',1794955484364,NULL,NULL,NULL,NULL,NULL,NULL,2048,'careful');
CREATE TABLE turns (
    id TEXT PRIMARY KEY,
    thread TEXT NOT NULL,
    seq BIGINT NOT NULL,
    state TEXT NOT NULL,
    origin TEXT NOT NULL,
    request TEXT NOT NULL,
    surface TEXT,
    address TEXT,
    owner TEXT,
    generation BIGINT NOT NULL DEFAULT 0,
    attempts BIGINT NOT NULL DEFAULT 0,
    continues TEXT,
    stop_asked BIGINT NOT NULL DEFAULT 0,
    runtime TEXT,
    runtime_turn TEXT,
    request_node TEXT,
    node TEXT,
    queued_at BIGINT NOT NULL,
    started_at BIGINT,
    ended_at BIGINT,
    problem_code TEXT,
    problem_message TEXT,
    usage TEXT
);
INSERT INTO "turns" VALUES('01M7NTY5ZAFFVDKD4G4QP4AXYH','01M7NTY5ZAC0W92MKGEW7NV5SH',1024,'completed','message','[{"id":"56fb791b8c874b320662c866e311bcba","author":"you","text":"!text The first answer.","attachments":[],"among":false}]','cli','',NULL,1,1,NULL,0,'scripted','01M7NTY5ZAFFVDKD4G4QP4AXYH','ad311692de621eb557f47080b532e2bad667c87990149e4617515759b501e4fa','c0c88705c133547cb3cdbc76061904da3e2f545224a1a0b06702004c26af3926',1794955483114,1794955483128,1794955483156,NULL,NULL,'{"input_tokens":10,"cached_input_tokens":0,"output_tokens":5,"reasoning_tokens":0,"total_tokens":15}');
INSERT INTO "turns" VALUES('01M7NTY66R42NYC3CVR5HTPFNA','01M7NTY66RX7SMY1BDYSF0PC9X',1024,'completed','message','[{"id":"6cad50c9d089740f37231e8850197c6f","author":"you","text":"!text Hello from the past.","attachments":[],"among":false}]','cli','',NULL,1,1,NULL,0,'scripted','01M7NTY66R42NYC3CVR5HTPFNA','d09218b8ebef5eaabf4afce238027f7b4673a24561e19b636b08ad846b3ecc7a','d0dc1ee7e650bc62ac5b137701e25400ade8f1cd15d8a4ad19960c0c52c51b6c',1794955483352,1794955483355,1794955483403,NULL,NULL,'{"input_tokens":10,"cached_input_tokens":0,"output_tokens":5,"reasoning_tokens":0,"total_tokens":15}');
INSERT INTO "turns" VALUES('01M7NTY6KQ472VWZ2VGQCBAHKA','01M7NTY66RX7SMY1BDYSF0PC9X',2048,'completed','message','[{"id":"b6c6d9363c5fec78e56f18c2a91fc63c","author":"you","text":"!text A second answer, with 中文.","attachments":[],"among":false}]','cli','',NULL,1,1,NULL,0,'scripted','01M7NTY6KQ472VWZ2VGQCBAHKA','bb10f84b8f8b45d57b340b782b8edd3a06a43bdc8a97cb7860624e20c820ec4d','0f7c43fa1eef2e2143458e549b36752f23c2f159b30aa714b165e8ae2f073835',1794955483767,1794955483768,1794955483779,NULL,NULL,'{"input_tokens":10,"cached_input_tokens":0,"output_tokens":5,"reasoning_tokens":0,"total_tokens":15}');
INSERT INTO "turns" VALUES('01M7NTY6SP9V7STMD1W3640KDF','01M7NTY6SNDQC3Z159HFZ31JKN',1024,'completed','message','[{"id":"4515194925696e745fae04b1b0bea841","author":"you","text":"!text For the hook.","attachments":[],"among":false}]','cli','',NULL,1,1,NULL,0,'scripted','01M7NTY6SP9V7STMD1W3640KDF','3022cdf05ef34c950d3d761e9610636fa25e8f89e443dcf8ebe44d611147865e','13bf5b37039bff5a1066c100c939bb2c37b46b0955ca50f85216ef23c83834e2',1794955483958,1794955483960,1794955483978,NULL,NULL,'{"input_tokens":10,"cached_input_tokens":0,"output_tokens":5,"reasoning_tokens":0,"total_tokens":15}');
INSERT INTO "turns" VALUES('01M7NTY707X9N0VZ95V4CM1HF3','01M7NTY7062ZKR9NA99CDVC4Q9',1024,'failed','message','[{"id":"408e5aed6a9c297ccbd135da5f57a3cd","author":"you","text":"!status 400","attachments":[],"among":false}]','cli','',NULL,1,1,NULL,0,'scripted','01M7NTY707X9N0VZ95V4CM1HF3','9fdffb2a013aa9eb7440ed8e7a3e4bad777252343ba9709a51c47d32f5ff5a39','252dd1a281a6813b3cff19e53a2e3e4dca300d233c3258b9d79748b57488087c',1794955484167,1794955484169,1794955484182,'model','The model said 400.','{"input_tokens":10,"cached_input_tokens":0,"output_tokens":5,"reasoning_tokens":0,"total_tokens":15}');
INSERT INTO "turns" VALUES('01M7NTY72YH218SZS127PVHAQZ','01M7NTY72Y5B753Y49GYDV8C4B',1024,'waiting','message','[{"id":"5f6fdb505da2e21700786867440ddf81","author":"you","text":"!approve pytest -q\n!text Tests were run.","attachments":[],"among":false}]','cli','','host.28759.1274569.8aab68a5',1,1,NULL,0,'scripted','01M7NTY72YH218SZS127PVHAQZ','13106c9541670fcf02a1dbaec90cc1994be2478441d7495bde628359b623b4bb',NULL,1794955484254,1794955484255,NULL,NULL,NULL,NULL);
INSERT INTO "turns" VALUES('01M7NTY76CWRZ5J25XP9VC97F8','01M7NTY76CMFXQMRBG9ZAJDEAR',1024,'waiting','message','[{"id":"a6e7f6bdf336bdaa58302aee14f56e3b","author":"you","text":"!ask Which colour? | red | blue","attachments":[],"among":false}]','cli','','host.28759.1274569.8aab68a5',1,1,NULL,0,'scripted','01M7NTY76CWRZ5J25XP9VC97F8','77be99a7b99961371d4c93a56f3822acbfb3c4e671bf2da84a56e12a8ebec7b9',NULL,1794955484364,1794955484365,NULL,NULL,NULL,NULL);
INSERT INTO "turns" VALUES('01M7NTYA1CV14AS0XKQV8R50GF','01M7NTY72Y5B753Y49GYDV8C4B',2048,'queued','message','[{"id":"44ce49e34be22a7a7960858c2f71569c","author":"you","text":"!text And this one was queued.","attachments":[],"among":false}]','cli','',NULL,0,0,NULL,0,NULL,NULL,NULL,NULL,1794955487276,NULL,NULL,NULL,NULL,NULL);
CREATE INDEX threads_active ON threads (id) WHERE status IN ('idle', 'suspended');
CREATE INDEX threads_history ON threads (id) WHERE status IN ('completed', 'cancelled');
CREATE INDEX threads_suspended ON threads (id) WHERE status = 'suspended';
CREATE INDEX threads_cancelled ON threads (id) WHERE status = 'cancelled';
CREATE UNIQUE INDEX turns_in_order ON turns (thread, seq);
CREATE INDEX turns_queued ON turns (thread, seq) WHERE state = 'queued';
CREATE UNIQUE INDEX turns_live ON turns (thread) WHERE state IN ('running', 'waiting');
CREATE INDEX steers_open ON steers (turn, seq) WHERE state IN ('offered', 'sent');
CREATE INDEX deliveries_by_thread ON deliveries (thread, created_at);
CREATE INDEX deliveries_due ON deliveries (surface, due_at) WHERE state = 'pending';
CREATE INDEX deliveries_open ON deliveries (thread, surface, address) WHERE state IN ('pending', 'sending');
CREATE INDEX deliveries_sending ON deliveries (id) WHERE state = 'sending';
CREATE INDEX deliveries_unsent ON deliveries (id) WHERE state IN ('pending', 'failed') AND kind = 'final';
CREATE INDEX log_by_thread ON log (thread, seq);
CREATE UNIQUE INDEX gates_ref ON gates (ref);
CREATE INDEX gates_code ON gates (code, asked_at);
CREATE INDEX gates_turn ON gates (turn);
CREATE INDEX gates_thread ON gates (thread, id);
CREATE INDEX gates_card ON gates (card);
CREATE INDEX gates_open ON gates (asked_at, id) WHERE state = 'open';
CREATE INDEX gates_open_in ON gates (thread) WHERE state = 'open';
CREATE INDEX rules_place ON rules (scope, place);
CREATE INDEX deliveries_edits ON deliveries (edits) WHERE state = 'pending';
CREATE INDEX answers_old ON answers (at);
CREATE INDEX deliveries_receipt ON deliveries (surface, address, message_id) WHERE message_id IS NOT NULL;
CREATE UNIQUE INDEX bindings_driver ON bindings (thread) WHERE drives = 1;
CREATE UNIQUE INDEX handoffs_open ON handoffs (thread) WHERE state IN ('pending', 'running');
CREATE INDEX strangers_old ON strangers (told_at);
CREATE UNIQUE INDEX adoptions_session ON adoptions (runtime, session);
CREATE INDEX turns_ended ON turns (ended_at, started_at, queued_at, state) WHERE ended_at IS NOT NULL;
CREATE INDEX gates_closed ON gates (closed_at, asked_at, answered_at) WHERE closed_at IS NOT NULL;
CREATE INDEX bindings_thread ON bindings (thread);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('log',49);
COMMIT;
