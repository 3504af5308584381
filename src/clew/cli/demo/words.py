"""All that `clew demo` says, in one place."""

from __future__ import annotations

# What the person in the story says. The lines that begin with `!` are the script of the model.
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

TITLE = "One thread of work, and a daemon that is killed under it. No account needed; nothing of yours is touched."
NO_CODEX = "Codex cannot be used here, so the story is played by the built-in runtime instead: {why}"

# Each step: what it is called in JSON, what it does while it takes its time, and what is said when it is done.
DOING = {
    "prepare": "making a home that is thrown away afterwards",
    "start": "starting a task",
    "stream": "listening",
    "kill": "killing the daemon",
    "back": "waiting for its supervisor",
    "continue": "waiting for the end of the work",
    "deliver": "asking the receiver what it got",
    "ask": "picking the finished thread up again",
    "approve": "saying yes",
    "resume": "waiting for its answer",
    "handoff": "handing the thread to the phone",
    "reply": "answering on the phone",
    "return": "coming back to the desk",
    "verify": "checking every hash",
    "down": "putting everything away",
}
DONE = {
    "prepare": "a home of its own, with {runtime}",
    "start": "a task is started in the background: “{request}”",
    "stream": "its text streams in: “{text}”",
    "kill": "in mid-turn the daemon is killed with SIGKILL: pid {pid} is gone",
    "back": "its supervisor brings it back: pid {pid}",
    "continue": "the work that was cut is continued, and comes to its end: “{text}”",
    "deliver": "its answer arrived exactly once, at {target}; receipt {receipt}, {at}",
    "ask": "the finished thread is resumed with new information, and asks before it acts: `{command}` ({code})",
    "approve": "a person says yes, and the agent took it",
    "resume": "the command ran once, and the thread knows its past: “{text}”",
    "handoff": "the thread is handed to a phone, into a topic of its own: {where} (a stand-in for Telegram)",
    "reply": "“{said}” is said there, and answered there, in the same thread",
    "return": "and back at the desk; the phone says: “{told}”",
    "verify": "its history verifies: {nodes} nodes, each with the right hash",
    "down": "clew down: nothing is left running",
}
CODEX = "the real Codex {version} and a model that plays a script"
SCRIPTED = "the built-in scripted runtime"

END = "All of that in {seconds:.0f} s. Now with an agent of your own:"
NEXT = ("{clew} doctor", "{clew} run 'what does this repo do?'")

KEPT_PAGE = (
    "It is all still up, in a home of its own. The page, for the next five minutes (then `clew web` has another link):"
)
KEPT = "In the terminal:"
KEPT_NEXT = (
    "export CLEW_HOME={home}",
    "{clew} web",
    "{clew} read {thread}",
    "{clew} where {thread}",
    "{clew} run '!slow 30 100'",
    "{clew} resume {thread} --supplement '!recall'",
)
KEPT_END = "And end it:"
KEPT_END_WITH = "CLEW_HOME={home} {clew} down; kill {pids}; rm -r {home}"

FAILED = "expected {expected}, but {found}"
FAILED_KEPT = "Its home is still there to look at: {home} (logs/ in it tells what happened)."
FAILED_NEXT = "All was put away. `clew demo --keep` leaves the home with its logs; `clew doctor` checks this machine."

EXPECTED = {
    "prepare": "a daemon that starts",
    "start": "a task that is accepted",
    "stream": "the words of the model, as they are said",
    "kill": "a daemon that can be killed while the turn runs",
    "back": "the supervisor to bring the daemon back",
    "continue": "the turn that was cut to be continued to its end",
    "deliver": "one answer, delivered once",
    "ask": "an agent that asks first",
    "approve": "an agent that takes the yes",
    "resume": "one run for one yes, and an agent that remembers the first request",
    "handoff": "the thread to go on elsewhere",
    "reply": "an answer on the phone that knows the first request",
    "return": "the phone to be told",
    "verify": "a sound history",
    "down": "no process to be left",
}
TOO_LONG = "nothing had happened after {seconds:.0f} s"
NOT_BACK = "it had to be started by this command"
STILL_THERE = "still there: {left}"
GOT = "there was {found}"
