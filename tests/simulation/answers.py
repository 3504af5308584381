"""How people in a room answer questions: in every valid way, in some invalid ones, late, twice, from another room, or
not at all. The seed decides."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from tests.simulation.fake_platform import Letter, Post

WORDS = ("continue", "stop", "继续", "rather do it differently", "run all", "merge", "skip")
BUDGET_WORDS = ("continue", "go on", "raise", "stop", "提高", "rather do it differently", "继续")
BARE = ("y", "y", "yes", "n", "同意", "拒绝", "1", "2", "3", "yes all", "well", "stop", "what is that?", "7")
CODED = ("{} y", "{}", "{} n not today", "{} 2", "y {}", "{} maybe", "{} stop", "{} thread")
COMMANDS = ("/stop", "/new", "/new please {}", "/queue please {}", "/status", "/fork", "/done", "/resume 2", "/停止")
_CODE = re.compile(r"\(([A-Z0-9]{4,})\)$", re.MULTILINE)
LATE = 90.0  # seconds


def opening(chance: random.Random, number: int) -> str:
    """Return an unprompted message: a request, sometimes a bare answer or a command."""
    kind = chance.random()
    if kind < 0.8:
        return f"please {number}"
    return chance.choice(BARE) if kind < 0.92 else chance.choice(COMMANDS).format(number)


def is_request(text: str) -> bool:
    """Whether it is a request, which means the same in any room, apart from a command before it."""
    return "please" in text or text.startswith(("go on", "rather", "errand", "and now"))


def codes(post: Post) -> list[str]:
    """Return the codes of the gates that a post shows as open."""
    return _CODE.findall(post.text)


def to_card(chance: random.Random, post: Post, now: float) -> Iterator[Letter]:
    """Return the reply to a card, or a button press; sometimes nothing."""
    for number in range(chance.choice((0, 1, 1, 1, 2, 3))):
        at, name = now + chance.random() * (LATE if chance.random() < 0.2 else 5), f"re-{post.key}-{number}"
        copies = 1 if chance.random() < 0.8 else 2
        if post.buttons and chance.random() < 0.5:
            yield _press(chance, post, _at_once(chance, now, at), name, copies)
            continue
        text = chance.choice(BARE) if chance.random() < 0.5 else chance.choice(CODED).format(chance.choice(codes(post)))
        here = chance.random() < 0.85
        where = post.conversation if here else f"room-{chance.randrange(4)}"
        quoted = post.id if here and chance.random() < 0.3 else None
        yield Letter(at, where, name, text, copies, late=delay(chance), quoted=quoted)


def _press(chance: random.Random, post: Post, at: float, name: str, copies: int = 1) -> Letter:
    """Press one of the current buttons, whatever happens to the message until then."""
    said, late = chance.choice(post.buttons).says, delay(chance)
    letter = Letter(at, post.conversation, name, said, copies, late=late, quoted=post.id, pressed=True)
    letter.saw, letter.about = tuple(codes(post)), post.thread
    return letter


def _at_once(chance: random.Random, now: float, at: float) -> float:
    """Sometimes so soon that clew does not have the receipt of its message yet."""
    return now + chance.random() * 0.2 if chance.random() < 0.3 else at


def delay(chance: random.Random) -> float:
    """Return how many seconds a message takes: sometimes so long that its meaning has changed."""
    return chance.random() * 15 if chance.random() < 0.15 else 0.0


def to_handoff(chance: random.Random, post: Post, now: float) -> Iterator[Letter]:
    """Continue a thread that was handed off, sometimes twice, sometimes at once."""
    for number in range(chance.choice((0, 1, 1, 2))):
        wait = chance.random() * (0.3 if chance.random() < 0.5 else 20)
        yield Letter(now + wait, post.conversation, f"on-{post.key}-{number}", f"go on {number}", late=delay(chance))


def to_question(chance: random.Random, post: Post, now: float) -> Iterator[Letter]:
    at, name = now + chance.random() * 5, f"re-{post.key}"
    if post.buttons and chance.random() < 0.5:
        yield _press(chance, post, _at_once(chance, now, at), name)
    else:
        words = BUDGET_WORDS if any(button.says == "raise" for button in post.buttons) else WORDS
        yield Letter(at, post.conversation, name, chance.choice(words))
