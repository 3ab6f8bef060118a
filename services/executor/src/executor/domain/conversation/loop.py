"""One turn of an assistant: think, act, observe, until it answers. Pure; what was done is in the turn itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from executor.domain.conversation.chat import Tool, ToolCall
from rota_contracts.ids import derived_id
from rota_contracts.json_values import same
from rota_contracts.messages.conversation import MadeFile, Round, ToolStatus, ToolUse, Turn
from rota_contracts.messages.text import Text

CAP = 20
"""Times that an assistant may use tools in one turn; its file may set another number."""

MAX_CALLS = 16
"""Tools that one answer may call."""

UNREADABLE = "_unreadable"
"""The key of arguments that aren't JSON, as they came."""

OPEN = (ToolStatus.PENDING, ToolStatus.STARTED)

ANSWERABLE = (*OPEN, ToolStatus.WAITING, ToolStatus.UNKNOWN)
"""One that was put back, or whose outcome is unknown, has a result when that comes from outside."""

CHANGED_BY_HOOKS = ("name", "server", "tool", "arguments", "idempotent")
"""Fields of a call that may be others once it begins."""


@dataclass(frozen=True)
class Think:
    """Ask the model, with `iteration` rounds of tools behind it."""

    iteration: int


@dataclass(frozen=True)
class Begin:
    """Record that these calls are about to be made, which shows after a crash."""

    uses: tuple[ToolUse, ...]


@dataclass(frozen=True)
class Act:
    """Make these calls, all at once."""

    uses: tuple[ToolUse, ...]


@dataclass(frozen=True)
class Wait:
    """These calls wait for a person's approval."""

    uses: tuple[ToolUse, ...]


Move = Think | Begin | Act | Wait


def move(turn: Turn, *, serial: bool = False) -> Move:
    """What comes next in a turn that has no answer yet. `serial`: one call after the other."""
    pending, started, waiting = (_with_status(turn, each) for each in (*OPEN, ToolStatus.WAITING))
    if pending and not (serial and (started or waiting)):
        return Begin(pending)
    if started:
        return Act(started)
    return Wait(waiting) if waiting else Think(len(turn.rounds))


def _with_status(turn: Turn, status: ToolStatus) -> tuple[ToolUse, ...]:
    return tuple(use for use in turn.rounds[-1].uses if use.status is status) if turn.rounds else ()


def limit_text(cap: int, text: str) -> str:
    """The output of an assistant that still calls tools when it has used up its iterations."""
    return f"{text}\n\nAgent exceeded maximum tool iterations ({cap}).".strip()


def timed_out_text(turn: Turn, seconds: float) -> str:
    """The output of a turn that has used up its time: what was said last, and why there is no more."""
    said = turn.rounds[-1].text if turn.rounds else ""
    return f"{said}\n\n[Task timed out after {seconds:g}s]".strip()


def uses_of(
    calls: Sequence[ToolCall], tools: Sequence[Tool], *, step_id: str, each_once: bool = False
) -> list[ToolUse]:
    """The calls that a model's reply asks for. One that can't be made has failed already, with a reason.

    `each_once`: the same call twice in one answer is made once; else that is seen before it begins (`calls.order`).
    """
    known = {tool.name: tool for tool in tools}
    uses: list[ToolUse] = []
    for index, call in enumerate(calls):
        tool = known.get(call.name)
        use = ToolUse(
            step_id=derived_id("tool", step_id, index),
            call_id=call.id or f"call-{index + 1}",
            name=call.name,
            server=tool.server if tool else None,
            tool=tool.tool if tool else "",
            arguments=call.arguments,
            idempotent=tool.idempotent if tool else False,
        )
        uses.append(_refused(use, _why_not(use, tool, uses, sorted(known), each_once=each_once)))
    return uses


def _why_not(
    use: ToolUse, tool: Tool | None, before: Sequence[ToolUse], names: Sequence[str], *, each_once: bool
) -> str:
    if UNREADABLE in use.arguments:
        return f"expected the arguments as a JSON object, got: {use.arguments[UNREADABLE]}"
    if tool is None:
        return f"there is no tool {use.name}: expected one of {', '.join(names) or 'none'}"
    if len(before) >= MAX_CALLS:
        return f"at most {MAX_CALLS} tools can be called at once"
    if each_once and any(use.name == other.name and same(use.arguments, other.arguments) for other in before):
        return "the same call was made in this very answer already"
    return ""


def _refused(use: ToolUse, reason: str) -> ToolUse:
    return use.model_copy(update={"status": ToolStatus.FAILED, "error": reason}) if reason else use


def with_round(turn: Turn, text: str, uses: Sequence[ToolUse], *, at: datetime, thinking: Text | None = None) -> Turn:
    """The turn after a reply that calls tools."""
    made = Round(text=text, thinking=thinking, uses=list(uses), at=at)
    return turn.model_copy(update={"rounds": [*turn.rounds, made]})


def begin(
    turn: Turn, uses: Sequence[ToolUse], *, refused: Mapping[str, str], waiting: Sequence[str], at: datetime
) -> Turn:
    """These calls have begun, as they are here; but for those that are refused, and those that wait for a person."""
    for use in uses:
        change: dict[str, object] = {name: getattr(use, name) for name in CHANGED_BY_HOOKS}
        if (reason := refused.get(use.step_id)) is not None:
            change |= {"status": ToolStatus.FAILED, "error": reason, "finished_at": at}
        elif use.step_id in waiting:
            change |= {"status": ToolStatus.WAITING}
        else:
            change |= {"status": ToolStatus.STARTED, "started_at": at}
        turn = _with_uses(turn, ToolStatus.PENDING, change, only=[use.step_id])
    return turn


def approve(turn: Turn, step_id: str) -> Turn:
    """This call waits no longer: it can begin."""
    return _with_uses(turn, ToolStatus.WAITING, {"status": ToolStatus.PENDING}, only=[step_id])


def put_back(turn: Turn, step_ids: Sequence[str]) -> Turn:
    """These calls didn't reach the other side, or are idempotent: they are made once more."""
    again = {"status": ToolStatus.PENDING, "started_at": None}
    return _with_uses(turn, ToolStatus.STARTED, again, only=step_ids)


def mark_unknown(turn: Turn, step_ids: Sequence[str], *, at: datetime) -> Turn:
    """It is unknown whether these calls happened."""
    lost = {"status": ToolStatus.UNKNOWN, "error": "outcome unknown", "finished_at": at}
    return _with_uses(turn, ToolStatus.STARTED, lost, only=step_ids)


def record_result(
    turn: Turn, step_id: str, output: Text | None, error: str | None, *, files: Sequence[MadeFile] = (), at: datetime
) -> Turn:
    """The result of a call; a failure goes back to the model, which may correct it."""
    status = ToolStatus.FAILED if error is not None else ToolStatus.COMPLETED
    change = {"status": status, "output": output, "error": error, "files": [*files], "finished_at": at}
    for still in ANSWERABLE:
        turn = _with_uses(turn, still, change, only=[step_id])
    return turn


def _with_uses(
    turn: Turn, status: ToolStatus, change: Mapping[str, object], *, only: Sequence[str] | None = None
) -> Turn:
    if not turn.rounds:
        return turn
    last = turn.rounds[-1]
    uses = [
        use.model_copy(update=change) if use.status is status and (only is None or use.step_id in only) else use
        for use in last.uses
    ]
    return turn.model_copy(update={"rounds": [*turn.rounds[:-1], last.model_copy(update={"uses": uses})]})
