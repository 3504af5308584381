"""Shows the text of a request so that nobody approves what they do not see. `text.visible` protects a terminal; this
protects a person: invisible and lookalike characters become escapes such as `\\u0441`, and a gap that would push the
rest of a line out of sight becomes its length, such as `␣×5000`.
For a long text, show `escape_hidden(shortened(text, limit))`."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from clew.support.text import cut_mark

# All patterns are compiled only when used, which `re` remembers: every command imports this module.

# Letters, symbols and marks that are drawn as nothing. Controls, format marks and odd spaces are found by category.
_NO_INK = (
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u2d7f\u3164\ufe00-\ufe0f\uffa0\ufffc"
    "\U0001107f\U00011a47\U00011a99\U00016fe4\U0001bc9d\U0001d159\U000e0100-\U000e01ef]"
)
_ODD = r"[^ -~\n\t]"
_ODD_OR_LINE = r"[^ -~]"
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})

# Lookalikes of `;`, `/`, `\`, `.`, `-`, `:`, `!`, `|`; a dash that would begin an option; a combining mark that strikes
# out its character, is on something other than a letter, or is the third one on it.
_SIGNS = "[\u037e\u2044\u2215\u29f8\u2216\u29f5\ufe68\u2024\u2010\u2011\u2043\u02d7\u2236\ua789\u01c3\u01c0\u2223]"
_DASHES = "(?<!\\S)[\u2012-\u2015\u2212\ufe58\ufe63\uff0d]+(?=[A-Za-z])"
_MARKS = (
    "[\u0334-\u0338\u20d0-\u20f0]|(?<=[ -@[-`{-~\n])[\u0300-\u0333\u0339-\u036f]|(?<=[\u0300-\u036f]{2})[\u0300-\u036f]"
)

_MAX_STACK = 3  # combining marks of any script on one letter; more of them would cover the lines above and below
_MAY_STACK = rf"[^\x00-\x7f]{{{_MAX_STACK + 1},}}"

# Blanks that push the rest of a line out of sight: more than 40 inside a line (the sign of a diff does not count), or
# more than 200 at its beginning, which is more than any indentation.
_GAP = r"(?m)(?<=[^ \t\n])(?<!^[+-])[ \t]{41,}|(?:^|(?<=^[+-]))[ \t]{201,}"
_GAP_IN_LINE = r"[ \t]{41,}"

_WORD = r"(?<!\w)[A-Za-z0-9_]*+[^\W\x00-\x7f]\w*"  # a word that is not only ASCII
_NEAR = 40
_LIKE_ASCII = frozenset(
    "асеорхуѕіјһԁԛԝӏүАВЕКМНОРСТХУЅІЈԚԜӀҮ"  # Cyrillic
    "αινορυχϲϳΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹ"  # Greek
    "օոսհցզյլՕՍ"  # Armenian
    "ⲟⲣⲥⲭⲞⲢⲤⲬ"  # Coptic
    "ᎠᎡᎢᎪᎫᎬᎳᎷᎻᎽᏀᏃᏏᏒᏔᏕᏙᏚᏞᏟᏢᏦᏧ"  # Cherokee
    "ꓐꓑꓓꓔꓖꓗꓙꓚꓜꓝꓟꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ"  # Lisu
    "ɑɡɩʋⅼᴀᴄᴅᴇɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ"  # phonetic, small capitals
)


def escape_hidden(text: str, *, lines: bool = True) -> str:
    """The text with hidden characters escaped. Words of any language stay unchanged, unless they look like English.
    `lines`: keep newlines and tabs; otherwise escape them too."""
    is_ascii = text.isascii()  # then only gaps and controls are hidden
    shown = text if is_ascii else re.sub(_WORD, lambda word: _word(text, word), text)
    shown = re.sub(_GAP if lines else _GAP_IN_LINE, lambda gap: f"␣×{len(gap[0])}", shown)
    shown = shown if is_ascii else _escape_signs_and_marks(shown)
    odd = _ODD if lines else _ODD_OR_LINE
    return re.sub(odd, lambda found: _escaped(found[0]) if _is_unseen(found[0]) else found[0], shown)


def _escape_signs_and_marks(text: str) -> str:
    for pattern in (_NO_INK, _SIGNS, _DASHES, _MARKS):
        text = re.sub(pattern, lambda found: "".join(map(_escaped, found[0])), text)
    return re.sub(_MAY_STACK, lambda run: _without_stacks(run[0]), text)


def shortened(text: str, limit: int) -> str:
    """The beginning and the end of a long text, and how many characters are left out between them."""
    if len(text) <= limit:
        return text
    room = max(limit - len(_gap(len(text))), 0)
    head, tail = room - room // 3, room // 3
    return f"{text[:head]}{_gap(len(text) - head - tail)}{text[len(text) - tail :]}"


def _gap(left_out: int) -> str:
    return f" {cut_mark(left_out)} "


@cache
def _is_unseen(char: str) -> bool:
    return unicodedata.category(char) in _UNSEEN


@cache
def _is_mark(char: str) -> bool:
    return unicodedata.combining(char) != 0 or unicodedata.category(char) == "Me"


def _without_stacks(run: str) -> str:
    found, height = [], 0
    for char in run:
        height = height + 1 if _is_mark(char) else 0
        found.append(_escaped(char) if height > _MAX_STACK else char)
    return "".join(found)


def _escaped(char: str) -> str:
    code = ord(char)
    if code < 0x100:
        return {"\n": "\\n", "\t": "\\t"}.get(char, f"\\x{code:02x}")
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _word(text: str, found: re.Match[str]) -> str:
    word = found[0]
    if not _is_suspicious(word) or _is_a_small_word(text, found):
        return word
    return "".join(_escaped(char) if _passes_for_ascii(char) else char for char in word)


def _is_suspicious(word: str) -> bool:
    """Whether a word mixes English letters with lookalikes, or consists of lookalikes only."""
    letters = [char for char in word if not char.isascii()]
    return any(map(_passes_for_ascii, letters)) and (
        any(char.isascii() and char.isalpha() for char in word) or all(map(_passes_for_ascii, letters))
    )


def _is_a_small_word(text: str, found: re.Match[str]) -> bool:
    """Whether this is a short Russian or Greek word, such as `с` and `να`: it stands beside a word that is clearly of
    that script."""
    word = found[0]
    if len(word) > 2 or any(map(str.isascii, word)):
        return False
    before = re.search(r"(\w+) \Z", text[max(found.start() - _NEAR, 0) : found.start()])
    after = re.match(r" (\w+)", text[found.end() : found.end() + _NEAR])
    return any(_is_plainly(_script(word[0]), beside[1]) for beside in (before, after) if beside)


def _is_plainly(script: str, word: str) -> bool:
    others = [char for char in word if char.isalpha() and not _passes_for_ascii(char)]
    return bool(others) and all(_script(char) == script for char in others)


@cache
def _script(char: str) -> str:
    return unicodedata.name(char, "").partition(" ")[0]


@cache
def _passes_for_ascii(char: str) -> bool:
    """Whether it looks like an ASCII letter or digit: one of another script, a wide or a mathematical one."""
    if char in _LIKE_ASCII:
        return True
    how, _, what = unicodedata.decomposition(char).rpartition(" ")
    return (
        how in ("", "<font>", "<wide>", "<compat>")
        and what != ""
        and int(what, 16) < 0x80
        and chr(int(what, 16)).isalnum()
    )
