"""What an agent asks, as a person is asked it, and which of its options an answer is. Pure, but for the sending.

Options go by their id. A yes is the one option that allows once; what would allow for longer is never chosen for
anybody, because rules are clew's own. Where there is no such option, or there are several, the person is shown them all
and picks one."""

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

QUESTION = "option"
CLAIMED = "The agent says, unchecked · 代理的说明，未经核实:"
UNSEEN = "a command that the agent does not show"
REMOVES = "It deletes or moves files. · 它会删除或移动文件。"
NOWHERE = "the agent does not say clearly in which folder it would run"
_GATES = {ActivityKind.COMMAND: GateKind.COMMAND, ActivityKind.CHANGE: GateKind.CHANGE}


@dataclass(slots=True)
class Pending:
    """A request that waits for a person. Answered once, whoever tries how often."""

    ref: str
    asked: Asked
    send: Callable[[Answer], None]  # raises BadInput where the answer does not fit
    grants: tuple[Grant, ...] = ()  # what a yes lets the agent have us do, once each
    is_current: Callable[[], bool] = lambda: True  # False: what it asks has changed since, or the file
    is_answered: bool = field(default=False)

    def answer(self, answer: Answer) -> bool:
        if self.is_answered:
            return False
        self.send(answer)
        self.is_answered = True
        return True


def asked(request: PermissionRequest, call: ToolCall, plan: Plan, diff: str) -> Asked:
    """`call` is what is known of the tool call by now, `diff` what it changes."""
    title, kind = _title(call, plan), _kind(plan)
    nowhere = NOWHERE if plan.argv and plan.folder is None else ""
    removes = REMOVES if plan.removes else ""
    parts = (removes, nowhere, plan.rest and f"given along: {plan.rest}", diff, _claimed(tools.texts(call)))
    detail = "\n".join(filter(None, parts))
    item = call.tool_call_id or None
    if not is_plain(request.options):
        text = "\n".join(filter(None, (title, plan.folder and f"in {plan.folder}", detail)))
        question = Question(QUESTION, text, tuple(names(request.options)), free=False)
        return Asked(GateKind.QUESTION, title, questions=(question,), item=item)
    reason = (call.title or "") if call.title != title and not plan.hides_command else ""
    unjudged = "; ".join(plan.doubts)
    return Asked(
        kind, title, detail, plan.folder, reason, plan.paths, item=item, unjudged=unjudged, removes=plan.removes
    )


def _claimed(text: str) -> str:
    """The agent's own words, marked line by line: they are no part of what clew shows before them."""
    return "\n".join((CLAIMED, *(f"| {line}" for line in text.split("\n")))) if text else ""


def _kind(plan: Plan) -> GateKind:
    """A command that is not told is none that could be judged as one."""
    if plan.hides_command:
        return GateKind.PERMISSION
    return _GATES.get(plan.kind, GateKind.PERMISSION)


def _title(call: ToolCall, plan: Plan) -> str:
    """The exact command, or the paths. Else what the agent calls it, which its model may have written."""
    if plan.argv:
        return plan.command
    if plan.paths:
        return ", ".join(plan.paths)
    claimed = call.title or call.kind or "tool"
    return f"{UNSEEN}; it calls it: {claimed}" if plan.hides_command else claimed


def outcome(options: tuple[Option, ...], answer: Answer) -> dict[str, object]:
    """The answer on the wire. Raises BadInput."""
    if answer.decision is Decision.CANCEL:
        return CANCELLED
    option = _chosen(options, answer)
    return {"outcome": {"outcome": "selected", "optionId": option}} if option is not None else CANCELLED


CANCELLED: dict[str, object] = {"outcome": {"outcome": "cancelled"}}


def is_plain(options: tuple[Option, ...]) -> bool:
    """There is one way to say yes to just this, and a way to say no."""
    kinds = [option.kind for option in options]
    return kinds.count("allow_once") == 1 and any(kind.startswith("reject") for kind in kinds)


def names(options: tuple[Option, ...]) -> Mapping[str, str]:
    """What a person reads, and the option's id: each is another, whatever the agent calls them."""
    found: dict[str, str] = {}
    for option in options:
        label = option.name or option.option_id
        found[label if label not in found else f"{label} ({option.option_id})"] = option.option_id
    return found


def _chosen(options: tuple[Option, ...], answer: Answer) -> str | None:
    """None: there is no such option, so the request is cancelled."""
    match answer.decision:
        case Decision.ACCEPT if is_plain(options):
            return next(option.option_id for option in options if option.kind == "allow_once")
        case Decision.REPLY:
            said = [word for name, words in answer.replies if name == QUESTION for word in words]
            known = names(options)
            if len(said) != 1 or said[0] not in known:
                raise BadInput(f"Choose one of: {', '.join(known)}.")
            return known[said[0]]
        case Decision.ACCEPT:
            raise BadInput(f"A yes is not enough here. Choose one of: {', '.join(names(options))}.")
        case _:
            no = [
                option.option_id
                for kind in ("reject_once", "reject_always")
                for option in options
                if option.kind == kind
            ]
            return no[0] if no else None
