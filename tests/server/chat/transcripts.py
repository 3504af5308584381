"""Golden transcripts of the chat stream. To compare them, ids are numbered in the order of their appearance, and
consecutive chunks are joined, since nothing is promised about where a text is split.

`CLEW_WRITE_GOLDEN=1 ./check tests/server/chat -k golden` writes them again; check the diff before you commit it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.helpers.json_client import RawEvent as Event
from tests.helpers.json_client import parse_sse

GOLDEN = Path(__file__).with_name("golden")
ULID = re.compile(r"\b[0-9A-HJKMNP-TV-Z]{26}\b")
CODE = re.compile(r'(?<="code": ")[A-Z][0-9A-Z]{1,4}(?=")')
MACHINE = (  # values that differ between machines and versions
    (re.compile(r'(?<=_tokens": )\d+'), "0"),
    (re.compile(r"/[\w/]*sh -l?c"), "sh -c"),
    (re.compile(r"(?<=Reconnecting\.\.\. \d/\d )\([^\"]*\)"), "(why)"),
)
FINAL = ("done", "error")


@dataclass(frozen=True, slots=True)
class Transcript:
    events: tuple[Event, ...]

    @classmethod
    def of(cls, body: bytes) -> Transcript:
        return cls(tuple(parse_sse(iter([body]))))

    @property
    def last(self) -> Event:
        return self.events[-1]

    @property
    def stages(self) -> list[str]:
        return [event.data["stage"] for event in self.events if event.kind == "progress"]

    def text(self) -> str:
        """The text of a front end that only joins chunks."""
        text = ""
        for event in self.events:
            if event.kind == "chunk":
                text += event.data["content"]
            elif event.kind == "progress" and event.data["stage"] == "restarted":
                text = ""
        return text

    def check(self) -> None:
        """Check the promised order of frames."""
        kinds = [event.kind for event in self.events]
        assert kinds[0] == "metadata" and kinds.count("metadata") == 1, kinds
        assert kinds[-1] in FINAL and sum(kind in FINAL for kind in kinds) == 1, kinds
        if self.last.kind == "done":
            assert self.text() == self.last.data["content"]


def joined(events: Iterable[Event]) -> Iterator[tuple[str, Any]]:
    text = ""
    for event in events:
        if event.kind == "chunk":
            text += event.data["content"]
            continue
        if text:
            yield "chunk", {"content": text}
            text = ""
        yield event.kind, event.data


def normalized(*transcripts: Transcript) -> str:
    shown = "\n---\n\n".join(
        "".join(f"{kind} {json.dumps(data, ensure_ascii=False)}\n" for kind, data in joined(transcript.events))
        for transcript in transcripts
    )
    names: dict[str, str] = {}
    for pattern, word in ((ULID, "id"), (CODE, "code")):
        for found in pattern.findall(shown):
            names.setdefault(found, f"<{word} {len(names) + 1}>")
        shown = pattern.sub(lambda match: names[match[0]], shown)
    for pattern, plain in MACHINE:
        shown = pattern.sub(plain, shown)
    return shown


def check_golden(name: str, *transcripts: Transcript) -> None:
    for transcript in transcripts:
        transcript.check()
    path, shown = GOLDEN / f"{name}.txt", normalized(*transcripts)
    if os.environ.get("CLEW_WRITE_GOLDEN"):
        path.write_text(shown, encoding="utf-8")
    assert shown == path.read_text(encoding="utf-8")
