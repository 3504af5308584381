"""What the person in `clew demo` says, and the commands that it proposes."""

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

IN_A_PROJECT = "cd your-project && clew run 'what does this repo do?'"
NEXT = ("clew doctor", IN_A_PROJECT)
NEXT_IN_CHECKOUT = ("{clew} doctor", "{clew} link", IN_A_PROJECT)  # without a clew on the PATH
KEPT_NEXT = (
    "export CLEW_HOME={home}",
    "{clew} web",
    "{clew} read {thread}",
    "{clew} where {thread}",
    "{clew} run '!slow 30 100'",
    "{clew} resume {thread} '!recall'",
)
KEPT_END_WITH = "CLEW_HOME={home} {clew} down; kill {pids}; rm -r {home}"
