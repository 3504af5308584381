"""All texts of `clew demo`."""

from __future__ import annotations

# What the person in the demo says. Lines that begin with `!` are the script of the model.
REQUEST = "Lead me out of the labyrinth, and tell me when we are out."
THREAD = "never lose the thread that leads you back out of the maze"  # what the model says for `!slow 12 …`
DAYLIGHT = "Here is daylight."
HOLD = "minotaur"
PROMPT = f"{REQUEST}\n!slow 12 70\n!hold {HOLD}\n!text {DAYLIGHT}"
MARK = "echo here >> way-out"
SUPPLEMENT = (
    f"By the way: the labyrinth has a second way out. Mark it. What did I ask you first?\n!approve {MARK}\n!recall"
)

ON_THE_WAY = "I am on the way now. What was it that I asked you first?\n!recall"

TITLE = "One thread of work, and a daemon that is killed in the middle. No account needed; your data is not touched."
NO_CODEX = "Codex cannot be used here, so the demo uses the built-in scripted runtime: {why}"

# Each step by its name in JSON: the text while it runs, and the text when it is done.
DOING = {
    "prepare": "creating a temporary home",
    "start": "starting a task",
    "stream": "streaming its text",
    "kill": "killing the daemon",
    "back": "waiting for the supervisor to restart it",
    "continue": "waiting for the end of the turn",
    "deliver": "checking what the receiver got",
    "ask": "resuming the finished thread",
    "approve": "approving",
    "resume": "waiting for its answer",
    "handoff": "handing the thread to the phone",
    "reply": "answering on the phone",
    "return": "taking the thread back to the local client",
    "verify": "checking every hash",
    "down": "stopping and removing everything",
}
DONE = {
    "prepare": "a temporary home with {runtime}",
    "start": "a task is started in the background: “{request}”",
    "stream": "its text streams in: “{text}”",
    "kill": "the daemon is killed in mid-turn with SIGKILL: pid {pid} is gone",
    "back": "its supervisor restarts it: pid {pid}",
    "continue": "the turn that was cut off is continued to its end: “{text}”",
    "deliver": "its answer arrived exactly once, at {target}; receipt {receipt}, {at}",
    "ask": "the finished thread is resumed with new information, and asks before it acts: `{command}` ({code})",
    "approve": "a person approves, and the agent receives the answer",
    "resume": "the command ran once, and the thread remembers its history: “{text}”",
    "handoff": "the thread is handed to a phone, into its own topic: {where} (a fake Telegram server)",
    "reply": "“{said}” is sent from there and answered there, in the same thread",
    "return": "the thread is back at the local client; the phone shows: “{told}”",
    "verify": "its history is verified: {nodes} nodes, each with the right hash",
    "down": "clew down: nothing is left running",
}
CODEX = "the real Codex {version} and a scripted model"
SCRIPTED = "the built-in scripted runtime"

END = "Done in {seconds:.0f} s. Now try it with your own agent:"
NEXT = ("{clew} doctor", "{clew} run 'what does this repo do?'")

KEPT_PAGE = "Everything still runs, in its temporary home. The page, for the next five minutes (later: `clew web`):"
KEPT = "In the terminal:"
KEPT_NEXT = (
    "export CLEW_HOME={home}",
    "{clew} web",
    "{clew} read {thread}",
    "{clew} where {thread}",
    "{clew} run '!slow 30 100'",
    "{clew} resume {thread} --supplement '!recall'",
)
KEPT_END = "To end it:"
KEPT_END_WITH = "CLEW_HOME={home} {clew} down; kill {pids}; rm -r {home}"

FAILED = "expected {expected}, but {found}"
FAILED_KEPT = "Its home is kept: {home} (see its logs/)."
FAILED_NEXT = (
    "Everything was removed. `clew demo --keep` keeps the home and its logs; `clew doctor` checks this machine."
)

EXPECTED = {
    "prepare": "a daemon that starts",
    "start": "a task that is accepted",
    "stream": "the text of the model as it is written",
    "kill": "a daemon that can be killed while the turn runs",
    "back": "the supervisor to restart the daemon",
    "continue": "the turn that was cut off to be continued to its end",
    "deliver": "one answer, delivered once",
    "ask": "an agent that asks first",
    "approve": "an agent that receives the approval",
    "resume": "one run for one approval, and an agent that remembers the first request",
    "handoff": "the thread to continue elsewhere",
    "reply": "an answer on the phone that knows the first request",
    "return": "a notice on the phone",
    "verify": "a sound history",
    "down": "no process to be left running",
}
TOO_LONG = "nothing happened within {seconds:.0f} s"
NOT_BACK = "this command had to start it"
STILL_THERE = "still running: {left}"
GOT = "there was {found}"
