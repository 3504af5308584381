"""Converts an agent's permission request to what a person is asked, and the answer to one of its options. Pure, apart
from the sending.

A yes is the one option that allows once. An option that allows for longer is never chosen, because clew has its own
rules. If there is no such option, or more than one, the person is shown all options and picks one. What the call would
do is then judged and shown as ever, but nothing allows it automatically."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from clew.model.events import ActivityKind
from clew.model.gates import Answer, Asked, Decision, GateKind, Question
from clew.runtimes.acp import tools
from clew.runtimes.acp.approvals.grants import Grant
from clew.runtimes.acp.approvals.plans import Plan
from clew.runtimes.acp.wire import Option, PermissionRequest, ToolCall
from clew.support.errors import BadInput
from clew.texts import doubts
from clew.texts.catalogue import say
from clew.texts.together import lines

QUESTION = "option"
SHOWS_NOTHING = say("approvals.shows_nothing")
REMOVES = say("approvals.removes")
WHICH = say("approvals.which_option")
NOWHERE = say("approvals.nowhere")
_GATES = {ActivityKind.COMMAND: GateKind.COMMAND, ActivityKind.CHANGE: GateKind.CHANGE}


@dataclass(slots=True)
class Pending:
    """A request that waits for a person. Answered at most once."""

    ref: str
    asked: Asked
    send: Callable[[Answer], None]  # raises BadInput if the answer does not fit
    grants: tuple[Grant, ...] = ()  # what a yes allows the agent to have us do, once each
    is_current: Callable[[], bool] = lambda: True  # False: the request or the file has changed since
    is_answered: bool = field(default=False)

    def answer(self, answer: Answer) -> bool:
        if self.is_answered:
            return False
        self.send(answer)
        self.is_answered = True
        return True


def asked(request: PermissionRequest, call: ToolCall, plan: Plan, diff: str) -> Asked:
    """Return what to ask the person. `call`: all that is known of the tool call; `diff`: what it changes."""
    title, kind = _title(call, plan), _kind(plan)
    nowhere = NOWHERE if plan.argv and plan.folder is None else ""
    removes = REMOVES if plan.removes else ""
    # Without a diff only the title says which tool it is, so a yes for the thread must be for that title.
    said = call.title or ""
    names_tool = kind is GateKind.CHANGE and not diff and said != title
    claimed = _mark_as_claim("\n".join(filter(None, (said if names_tool else "", tools.shown_texts(call)))))
    given = say("approvals.given_along", rest=plan.rest) if plan.rest else ""
    detail = lines(removes, nowhere, given, diff, claimed)
    unshown = kind is GateKind.PERMISSION and not detail
    if unshown and any(option.kind.startswith("reject") for option in request.options):
        detail = SHOWS_NOTHING
    item = call.tool_call_id or None
    is_clear = is_plain(request.options)
    if not is_clear and not (plan.argv or plan.paths or plan.diffs or plan.hides_command or plan.may_run):
        whole = lines(title, say("approvals.in_folder", folder=plan.folder) if plan.folder else "", detail)
        question = Question(QUESTION, whole, tuple(names(request.options)), free=False)
        return Asked(GateKind.QUESTION, title, questions=(question,), item=item)
    choice = () if is_clear else (Question(QUESTION, WHICH, tuple(names(request.options)), free=False),)
    reason = said if said != title and not plan.hides_command and not names_tool else ""
    unjudged = doubts.joined(plan.doubts)
    return Asked(
        kind if is_clear else GateKind.QUESTION,
        title,
        detail,
        plan.folder,
        reason,
        plan.paths,
        choice,
        item=item,
        unjudged=unjudged,
        removes=plan.removes,
        may_run=plan.may_run,
        may_touch=plan.may_touch,
        unshown=unshown,
        mentions=plan.mentions,
        about=None if is_clear else kind,
    )


def _mark_as_claim(text: str) -> str:
    """Mark each line of the agent's own text, to set it apart from what clew shows."""
    return say("approvals.claimed", text="\n".join(f"| {line}" for line in text.split("\n"))) if text else ""


def _kind(plan: Plan) -> GateKind:
    """Return the kind of gate. A hidden command is a permission: no rule for commands can judge it."""
    if plan.hides_command:
        return GateKind.PERMISSION
    return _GATES.get(plan.kind, GateKind.PERMISSION)


def _title(call: ToolCall, plan: Plan) -> str:
    """Return the exact command or the paths; otherwise the agent's title, which its model may have written."""
    if plan.argv:
        return plan.command
    if plan.paths:
        return ", ".join(plan.paths)
    claimed = call.title or call.kind or say("approvals.unnamed_tool")
    return say("approvals.unshown_command_called", name=claimed) if plan.hides_command else claimed


def to_response(options: tuple[Option, ...], answer: Answer) -> dict[str, object]:
    """Return the response to the agent. Raises BadInput."""
    if answer.decision is Decision.CANCEL:
        return CANCELLED
    option = _chosen(options, answer)
    return {"outcome": {"outcome": "selected", "optionId": option}} if option is not None else CANCELLED


CANCELLED: dict[str, object] = {"outcome": {"outcome": "cancelled"}}


def is_plain(options: tuple[Option, ...]) -> bool:
    """Whether there is exactly one option to allow once, with an id of its own, and one to reject."""
    once = [option.option_id for option in options if option.kind == "allow_once"]
    is_one = len(once) == 1 and [option.option_id for option in options].count(once[0]) == 1
    return is_one and any(option.kind.startswith("reject") for option in options)


def names(options: tuple[Option, ...]) -> Mapping[str, str]:
    """Map what a person reads to the option's id. The labels differ even if the agent's names do not."""
    found: dict[str, str] = {}
    for option in options:
        label = option.name or option.option_id
        found[label if label not in found else f"{label} ({option.option_id})"] = option.option_id
    return found


def _chosen(options: tuple[Option, ...], answer: Answer) -> str | None:
    """Return the id of the option; None: there is none, so the request is cancelled."""
    match answer.decision:
        case Decision.ACCEPT if is_plain(options):
            return next(option.option_id for option in options if option.kind == "allow_once")
        case Decision.REPLY:
            said = [word for name, words in answer.replies if name == QUESTION for word in words]
            known = names(options)
            if len(said) != 1 or said[0] not in known:
                raise BadInput(say("runtimes.choose_one", names=", ".join(known)))
            return known[said[0]]
        case Decision.ACCEPT:
            raise BadInput(say("runtimes.yes_is_not_enough", names=", ".join(names(options))))
        case _:
            kinds = ("reject_once", "reject_always")
            no = [option.option_id for kind in kinds for option in options if option.kind == kind]
            others = {option.option_id for option in options if option.kind not in kinds}
            return no[0] if no and no[0] not in others else None
