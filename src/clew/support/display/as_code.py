"""Shows commands, paths, diffs and an agent's texts to the person who approves them. In addition to
`display.escape_hidden`, many blank lines are folded and counted. In code, right-to-left letters, which would reorder
the text around them, become escapes; in a command also lookalikes of quotes and of other shell characters. What runs is
never changed."""

from __future__ import annotations

import re

from clew.support.display import escape_hidden

MANY = 20  # a command, a reason or a question with more lines says how many it has
LONG = 1_000  # a command with a line of more characters says how many they are

# The blocks of right-to-left scripts: bidirectional classes R, AL and AN, and the marks on them.
_FROM_RIGHT = "[\u0590-\u08ff\u200f\ufb1d-\ufdff\ufe70-\ufefe\U00010800-\U00010fff\U0001e800-\U0001efff]+"
_FOLD = "⏎"
_BLANK_LINES = r"(?m)^([+-]?)[ \t]*\n(?:\1[ \t]*\n){3,}"  # in a diff each begins with its sign

# Patterns are compiled only when used, which `re` remembers: that takes as long as importing ten modules.
_EASTERN = (  # Chinese, Japanese and Korean letters; `丶` alone is none
    "[\u3041-\u30ff\u3400-\u4dbf\u4e00-\u4e35\u4e37-\u9fff\uac00-\ud7a3\U00020000-\U0003ffff]"
)
_LIKE_A_SIGN = (
    "["
    "\u00b4\u02b9\u02bb-\u02bf\u02c8\u02ca\u02cb\u02f4\u0374\u0384\u0559\u055a\u055d\u144a\u16cc\u1fbd\u1fbf\u1fef\u1ffd\u1ffe"
    "\u2018-\u201b\u2032\u2035\u275b\u275c\ua78b\ua78c\uff07\uff40\U00016f51"  # ' `
    "\u02ba\u02dd\u02ee\u02f5\u02f6\u1cd3\u201c-\u201f\u2033\u2034\u2036\u2037\u2057\u275d\u275e\u3003\u301d-\u301f"
    "\uff02\U0001f676\U0001f677"  # "
    "\u22d5\u2317\u266f\u2d4c\ufe5f\uff03"  # #
    "\u204f\ufe14\ufe54\uff1b"  # ;
    "\ua778\ufe60\uff06"  # &
    "\u00a6\u01c1\u16c1\u2016\u2225\u2502\u2503\u2551\u2758-\u275a\ufe31\ufe33\uff5c\uffe8"  # |
    "\ufe69\uff04"  # $
    "\u02c2\u1438\u16b2\u2039\u2329\u276e\u2770\u27e8\u29fc\u3008\ufe3f\ufe64\uff1c"  # <
    "\u02c3\u1433\u203a\u232a\u276f\u2771\u27e9\u29fd\u3009\ufe65\uff1e"  # >
    "\u207d\u208d\u2768\u276a\u2772\u27ee\u2985\u3014\ufe59\uff08\uff5f"  # (
    "\u207e\u208e\u2769\u276b\u2773\u27ef\u2986\u3015\ufe5a\uff09\uff60"  # )
    "\u2774\u2983\ufe5b\uff5b\u2775\u2984\ufe5c\uff5d\uff3b\uff3d"  # { } [ ]
    "\u1420\u27cd\u29f9\uff3c\U0001f67d\u2571\u27cb\u29f6\uff0f"  # \ /
    "\u207b\u208b\u2796\u2cba\ufe58\ufe63\uff0d"  # -
    "\u204e\u2217\ufe61\uff0a\u02dc\u2053\u223c\u1400\ua78a\ufe66\uff1d\ufe52\uff0e"  # * ~ = .
    "]"
    f"|(?<!{_EASTERN}|\u4e36)\u4e36++(?!{_EASTERN})"  # a stroke that is no part of a word
)
# Common punctuation of Chinese and Japanese. A word without blanks and shell characters means the same to the shell
# with and without such quotes, so they stay if they are in pairs there, beside letters of such a language.
_PAIRS = {"“": "”", "‘": "’", "（": "）", "〈": "〉"}
_COMMON = frozenset({*_PAIRS, *_PAIRS.values(), "；"})
_PIECE = re.compile(r"""[^\s"'`#;&|$<>(){}\\]+""")


_SHELL_CALL = r"""/(?:usr/)?bin/bash -l?c ((?:'[^']*'|"[^"$`\\!]*"|[A-Za-z0-9_@%+=:,./-])+)"""  # it expands nothing


def script_shown(command: str) -> str:
    """The script in `/bin/bash -lc SCRIPT`; of any other command all of it."""
    found = re.fullmatch(_SHELL_CALL, command)
    script = re.sub(r"""'([^']*)'|"([^"]*)\"""", lambda part: part[1] or part[2] or "", found[1]) if found else ""
    return script if script.strip() else command


def as_command(text: str, *, lines: bool = True) -> str:
    return as_code(text if text.isascii() else _PIECE.sub(_signs, text), lines=lines)


def as_code(text: str, *, lines: bool = True) -> str:
    """Show a path or a diff. `lines`: keep newlines and tabs; otherwise escape them too."""
    folded = _folded(text) if lines else text
    return escape_hidden(re.sub(_FROM_RIGHT, lambda found: _escaped(found[0]), folded), lines=lines)


def as_prose(text: str) -> str:
    """Show an agent's text: a reason, a question, its explanation."""
    return escape_hidden(_folded(text))


def title_shown(kind: str, title: str, *, lines: bool = True) -> str:
    """The title of a gate: a question, paths, or a command."""
    if kind == "question":
        return as_prose(title) if lines else escape_hidden(title, lines=False)
    if kind == "command":
        return as_command(script_shown(title), lines=lines)
    return as_code(title, lines=lines) if kind == "change" else as_command(title, lines=lines)


def detail_shown(kind: str, detail: str) -> str:
    """The detail of a gate: a diff, or the explanation of a question."""
    return as_prose(detail) if kind == "question" else as_code(detail)


def many_lines(kind: str, title: str) -> int | None:
    """How many lines a command has, if there are too many to see at a glance."""
    return many_in(title) if kind == "command" else None


def long_line(kind: str, title: str) -> int | None:
    """How many characters the longest line of a command has as it is shown, if they are too many to see at a glance."""
    longest = max(map(len, as_command(title).split("\n"))) if kind == "command" else 0
    return longest if longest > LONG else None


def many_in(text: str) -> int | None:
    """How many lines a text has, if there are too many."""
    count = text.rstrip("\n").count("\n") + 1
    return count if count > MANY else None


def _folded(text: str) -> str:
    """Fold runs of more than three blank lines: next to the buttons a person would see only what comes after them."""
    own = text.replace(f"{_FOLD}×", f"{_escaped(_FOLD)}×")
    return re.sub(_BLANK_LINES, lambda run: f"{run[1]}{_FOLD}×{len(run[0].splitlines())}\n", own)


def _signs(piece: re.Match[str]) -> str:
    stays = _COMMON if _is_prose(piece[0]) else frozenset[str]()
    return re.sub(_LIKE_A_SIGN, lambda sign: sign[0] if sign[0] in stays else _escaped(sign[0]), piece[0])


def _is_prose(piece: str) -> bool:
    """Whether it has letters of Chinese, Japanese or Korean, and all its quotes and brackets are in pairs."""
    expected: list[str] = []
    for char in piece:
        if char in _PAIRS:
            expected.append(_PAIRS[char])
        elif char in _PAIRS.values() and (not expected or expected.pop() != char):
            return False
    return not expected and re.search(_EASTERN, piece) is not None


def _escaped(text: str) -> str:
    return text.encode("ascii", "backslashreplace").decode()


PLAIN_LINE = (  # one line of words, with a colon only before a blank: Feishu has emoji such as `:OK:`
    r"""(?!.*[ ]{2})(?:[^\W\d_](?:[^\W_]|[ ,.?!'"()/%+=-]|[:;](?=[ ]|$)"""
    r"""|[\u2014\u2018-\u201d\u2026\u3001\u3002\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f])*)?"""
)


def plain_or_code(text: str) -> str:
    """A name or a command inside a line: plain if no chat could read anything in it as markup, else as inline code.
    What would end the code, or what Feishu reads as an image even there, is escaped."""
    if re.fullmatch(PLAIN_LINE, text.lstrip("!/")):
        return text
    inside = escape_hidden(text, lines=False).replace("`", r"\x60").replace("![", r"\x21[")
    return f"`{inside}`"
