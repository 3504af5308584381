"""Reasons why clew asks about a command, as sentences of the catalogue."""

from __future__ import annotations

from clew.model.gates import Reason
from clew.support.coded import Coded, Text, coded_of
from clew.support.display.as_code import as_code
from clew.texts.catalogue import english


def reason(why: Reason) -> Text:
    about = coded_of(why.about) or as_code(why.about, lines=False)
    coded = Coded(f"reasons.{why.code}", {"about": about} if about else {})
    return Text(english(coded), coded)
