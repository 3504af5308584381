"""Generates Markdown as agents write it, in English and Chinese, and as nobody should. Seeded."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

WORDS = "the build passed 构建 通过了 服务 重启 config naïve 🧶 日本語 café 12 snake_case 3.14 a".split()  # noqa: SIM905
SIGNS = ["，", "。", "：", "！", "”", ", ", ". ", ": ", " "]
MARKS = "** * _ __ ` `` ``` ~~~\n [ ](https://x.org) ]( ) \\ | |-| a 👩‍👩‍👧 你好 \u202e \u200b é <b> &lt; --- ~~ !["
ODD = [*MARKS.split(" "), " ", "\n", "\n\n", "\t", "b c", "> ", "# ", "- ", "1. "]
CHINESE = ["服务重启之后，", "**注意：**见", "（`x`）", "那**“甲”**", "通过了。"]


def document(seed: int, longest: int = 12) -> str:
    """A well-formed document: `**`, outside code, stands only around bold text."""
    random = Random(seed)
    blocks: list[Callable[[Random], str]] = [_prose, _prose, _heading, _list, _quote, _table, _fence, _wall]
    return "\n\n".join(random.choice(blocks)(random) for _ in range(random.randint(1, longest)))


def disorder(seed: int) -> str:
    random = Random(seed)
    return "".join(random.choice(ODD) for _ in range(random.randint(1, 120)))


def _prose(random: Random) -> str:
    text = "".join(_piece(random) for _ in range(random.randint(1, 25))).strip() or "x"
    return text.replace("****", "**，**")


def _wall(random: Random) -> str:
    """A paragraph without a space, longer than some messages."""
    return "".join(random.choices(CHINESE, k=random.randint(5, 900))).replace("****", "**，**")


def _piece(random: Random) -> str:
    words = " ".join(random.choices(WORDS, k=random.randint(1, 4)))
    sign = random.choice(SIGNS)
    match random.randint(0, 9):
        case 0:
            return f"见**{words}{sign.strip()}**{random.choice([' ', '，', '后面'])}"
        case 1:
            return f"注意**{words}**，"
        case 2:
            return f" `{random.choice(['y', 'n', 'x*y', words])}` "
        case 3:
            return f" [{words}](https://example.org/{random.randint(1, 99)}) "
        case 4:
            return f" *{words}* "
        case 5:
            return f" **{words} *{words}* `{words}`** "
        case 6:
            return "\n"
        case _:
            return f"{words}{sign}"


def _heading(random: Random) -> str:
    return f"{'#' * random.randint(1, 6)} {' '.join(random.choices(WORDS, k=3))}\n{_prose(random)}"


def _list(random: Random) -> str:
    lines, depth = [], 0
    for number in range(random.randint(1, 12)):
        depth = random.randint(0, min(depth + 1, 3))
        marker = random.choice(["-", "*", f"{number + 1}."])
        lines.append(f"{'   ' * depth}{marker} {_prose(random).replace(chr(10), ' ')}")
    return "\n".join(lines)


def _quote(random: Random) -> str:
    inner = _prose(random) if random.random() < 0.7 else _fence(random)
    return "\n".join(f"> {line}" for line in inner.split("\n"))


def _table(random: Random) -> str:
    columns, rows = random.randint(1, 5), random.randint(1, 60)
    cells = [[random.choice([*WORDS, "**粗**", "`y`", ""]) for _ in range(columns)] for _ in range(rows + 1)]
    cells.insert(1, [random.choice(["---", ":-:", "--:"]) for _ in range(columns)])
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def _fence(random: Random) -> str:
    lines = (random.choices(["  ", *WORDS, "**", "|", "#"], k=4) for _ in range(random.randint(1, 80)))
    return f"```{random.choice(['', 'py', 'sh'])}\n{chr(10).join(map(' '.join, lines))}\n```"
