"""The executor's state of a slot's holder, as the lost report."""

from collections.abc import Sequence
from typing import Any

import pytest
from services.scheduler.tests.harness import OWNER

from rota_common.errors import Permanent, Transient
from rota_common.testing.samples import NOON, SetClock
from rota_contracts.catalog import CHECK_SLOTS
from rota_contracts.messages.execution import ExecStatus, ExecutionFinishedV1, ExecutionStartedV1
from rota_contracts.messages.executor_capacity import CheckSlots, SlotsReply, SlotState
from rota_contracts.messages.parking import ExecutionParkedV1, ExecutionResumableV1
from rota_contracts.messages.trigger import TriggerType
from rota_contracts.model import Payload
from scheduler.dispatching.reconcile_slots import ReconcileSlots
from scheduler.domain.queue import Entry, EntryState, QueueState

SLOT = {EntryState.ADMITTED: False, EntryState.RUNNING: True}


class Asked:
    """An executor that knows this, and how often it was asked about what."""

    def __init__(self, *knows: SlotState) -> None:
        self.knows = {slot.execution_id: slot for slot in knows}
        self.about: list[list[str]] = []
        self.away: Exception | None = None

    async def __call__(self, question: Any, request: CheckSlots, *, timeout: float) -> SlotsReply:
        assert question is CHECK_SLOTS
        self.about.append(request.execution_ids)
        if self.away is not None:
            raise self.away
        return SlotsReply(slots=[self.knows.get(each, SlotState(execution_id=each)) for each in request.execution_ids])


def queue_state(*entries: tuple[str, EntryState, int]) -> QueueState:
    made = QueueState()
    for name, state, parks in entries:
        entry = Entry(
            name,
            OWNER["team_id"],
            OWNER["member_id"],
            TriggerType.EVENT,
            5,
            2,
            NOON,
            NOON,
            SLOT.get(state, False),
            parks,
        )
        made.put(entry, state)
    return made


async def found(state: EntryState, parked: int, /, **knows: Any) -> Payload | None:
    """The report about an entry in this state, from what the executor knows of it."""
    ask = Asked(SlotState(execution_id="e1", **knows))
    news: Sequence[Any] = await ReconcileSlots(ask=ask, clock=SetClock(), patience=0, timeout=1)(
        queue_state(("e1", state, parked))
    )  # type: ignore[arg-type]  # a stand-in
    assert ask.about == [["e1"]]
    return news[0].data if news else None


@pytest.mark.parametrize("status", ["completed", "failed", "cancelled"])
@pytest.mark.parametrize("state", [EntryState.ADMITTED, EntryState.RUNNING, EntryState.PARKED])
async def test_a_run_that_is_over_has_ended_so(state: EntryState, status: str) -> None:  # SC-09
    report = await found(state, 0, status=status, error="why")
    assert isinstance(report, ExecutionFinishedV1)
    assert (report.status, report.error, report.execution_id, report.team_id) == (status, "why", "e1", "acme")


@pytest.mark.parametrize(
    ("state", "parks"), [(EntryState.RUNNING, 0), (EntryState.PARKED, 1), (EntryState.ADMITTED, 1)]
)
async def test_a_run_that_is_gone_has_failed_if_it_had_begun(state: EntryState, parks: int) -> None:
    report = await found(state, parks)
    assert isinstance(report, ExecutionFinishedV1)
    assert (report.status, report.error) == (ExecStatus.FAILED, "no executor has it any more")


async def test_a_run_that_no_executor_has_started_keeps_its_slot() -> None:
    assert await found(EntryState.ADMITTED, 0) is None


@pytest.mark.parametrize(
    ("state", "parks", "knows", "expected"),
    [
        (EntryState.RUNNING, 0, {"status": "waiting", "parks": 1}, 1),
        (EntryState.RUNNING, 1, {"status": "paused", "parks": 3, "granted": 2}, 3),
        (EntryState.PARKED, 1, {"status": "waiting", "parks": 2, "granted": 1}, 2),
        (EntryState.PARKED, 1, {"status": "waiting", "parks": 1}, None),
        (EntryState.RUNNING, 1, {"status": "running", "parks": 1, "granted": 1}, None),
    ],
)
async def test_a_run_that_waits_was_parked(
    state: EntryState, parks: int, knows: dict[str, Any], expected: int | None
) -> None:  # SC-10
    report = await found(state, parks, **knows)
    assert (report.parks if isinstance(report, ExecutionParkedV1) else report) == expected


@pytest.mark.parametrize(
    ("state", "parks", "knows", "expected"),
    [
        (EntryState.PARKED, 1, {"status": "pending", "parks": 1}, 1),
        (EntryState.RUNNING, 0, {"status": "pending", "parks": 1}, 1),
        (EntryState.PARKED, 1, {"status": "pending", "parks": 2, "granted": 1}, 2),
        (EntryState.ADMITTED, 1, {"status": "pending", "parks": 1}, None),  # it has its slot already
    ],
)
async def test_a_run_that_can_go_on_wants_a_slot(
    state: EntryState, parks: int, knows: dict[str, Any], expected: int | None
) -> None:  # SC-10
    report = await found(state, parks, **knows)
    assert (report.parks if isinstance(report, ExecutionResumableV1) else report) == expected


async def test_a_run_that_was_taken_up_has_started() -> None:
    report = await found(EntryState.ADMITTED, 1, status="running", parks=1, granted=1)
    assert isinstance(report, ExecutionStartedV1)
    assert report.grant == 1
    assert isinstance(await found(EntryState.ADMITTED, 0, status="pending"), ExecutionStartedV1)
    assert await found(EntryState.ADMITTED, 1, status="running", parks=1, granted=0) is None
    assert await found(EntryState.RUNNING, 0, status="running") is None


async def test_entries_are_checked_only_after_the_patience_has_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = [0.0]
    monkeypatch.setattr("scheduler.dispatching.reconcile_slots.monotonic", lambda: seconds[0])
    ask = Asked(*(SlotState(execution_id=each, status=ExecStatus.RUNNING) for each in ("e1", "e2")))
    reconcile = ReconcileSlots(ask=ask, clock=SetClock(), patience=10, timeout=1)  # type: ignore[arg-type]  # a stand-in
    one, both = (
        queue_state(("e1", EntryState.RUNNING, 0)),
        queue_state(("e1", EntryState.RUNNING, 0), ("e2", EntryState.PARKED, 0)),
    )
    queued = queue_state(("e3", EntryState.QUEUED, 0))
    for at, entries in ((0, one), (9, both), (10, both), (15, both), (19, both), (20, both), (40, queued), (41, both)):
        seconds[0] = at
        await reconcile(entries)
    assert ask.about == [["e1"], ["e2"], ["e1"]]  # what was gone for a while is new when it is back


@pytest.mark.parametrize("away", [Transient("no executor"), Permanent("it can't")], ids=str)
async def test_no_answer_is_no_report_and_is_asked_for_again(away: Exception) -> None:
    ask = Asked()
    ask.away = away
    reconcile = ReconcileSlots(ask=ask, clock=SetClock(), patience=0, timeout=1)  # type: ignore[arg-type]  # a stand-in
    running = queue_state(("e1", EntryState.RUNNING, 0))
    assert await reconcile(running) == []
    ask.away = None
    assert len(await reconcile(running)) == 1
    assert ask.about == [["e1"], ["e1"]]


async def test_an_empty_queue_needs_no_check() -> None:
    ask = Asked()
    assert await ReconcileSlots(ask=ask, clock=SetClock(), patience=0, timeout=1)(QueueState()) == []  # type: ignore[arg-type]  # a stand-in
    assert ask.about == []
