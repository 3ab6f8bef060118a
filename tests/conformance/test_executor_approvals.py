"""The executor's stores keep the same promises about approvals in memory and in MongoDB."""

from datetime import datetime, timedelta

from services.executor.tests.fixtures import a_task, with_outcome, with_tasks

from executor.domain.outcomes import AskedAbout, CallsBegun, Thought
from executor.domain.run import DECISION, Run
from executor.domain.signals import control
from executor.ports import Runs, SignalResult
from rota_common.clock import now
from rota_common.page_cursor import parse_cursor
from rota_common.testing.samples import MEMBER, NOON, TEAM
from rota_contracts.canonical_json import sha256_of
from rota_contracts.messages.approval import ListApprovals
from rota_contracts.messages.conversation import ToolStatus, ToolUse
from rota_contracts.messages.execution import ExecStatus
from tests.conformance.executor_store import a_run, a_signal, bare, created, overdue


def asking(run_id: str, *, calls: int = 1, at: datetime = NOON, team: str = TEAM, member: str = MEMBER) -> Run:
    """A run whose assistant wants these calls, which all wait for a person."""
    run = with_tasks(a_task(1), run=a_run(run_id, team=team, member=member))
    uses = [ToolUse(step_id=f"{run_id}-{n}", name="crm__note", server="crm", tool="note") for n in range(calls)]
    asks = [AskedAbout(use.step_id, "crm.note", "it may change something", "{}", sha256_of({})) for use in uses]
    run = with_outcome(run, Thought("task-1", "", uses))
    run = with_outcome(run, CallsBegun("task-1", uses, asks=asks))
    asked_at = {"asked_at": at, "expires_at": at + timedelta(days=3)}
    return run.model_copy(update={"approvals": [each.model_copy(update=asked_at) for each in run.approvals]})


async def parked(runs: Runs, run: Run) -> None:
    epoch = await created(runs, run)
    await runs.release(control.park(run, now=NOON), epoch, check_in=None)


async def listed(runs: Runs, **given: object) -> list[str]:
    page = await runs.pending_approvals(ListApprovals.model_validate({"team_id": TEAM} | given), after=None)
    return [each.execution_id for each in page.approvals]


async def test_a_run_is_found_by_the_approval_that_it_waits_for(runs: Runs) -> None:  # EX-56
    run = asking("e1", calls=2)
    await parked(runs, run)
    for asked in run.approvals:
        assert bare(await runs.by_approval(asked.approval_id)).approvals == run.approvals
    assert await runs.by_approval("guessed") is None


async def test_pending_approvals_are_listed_oldest_first_page_by_page(runs: Runs) -> None:
    for minutes, run_id in ((3, "e3"), (1, "e1"), (2, "e2")):
        await parked(runs, asking(run_id, calls=2, at=NOON + timedelta(minutes=minutes)))
    assert await listed(runs) == ["e1", "e1", "e2", "e2", "e3", "e3"]
    seen, cursor = list[str](), ""
    while True:
        wanted = ListApprovals(team_id=TEAM, limit=4)
        page = await runs.pending_approvals(wanted, after=parse_cursor(cursor))
        seen += [each.approval_id for each in page.approvals]
        if page.cursor is None:
            break
        cursor = page.cursor
    assert (len(seen), len(set(seen))) == (6, 6)


async def test_approvals_are_listed_by_team_robot_and_run(runs: Runs) -> None:  # EX-56
    await parked(runs, asking("e1"))
    await parked(runs, asking("e2", member="bob"))
    await parked(runs, asking("elsewhere", team="initech"))
    assert await listed(runs) == ["e1", "e2"]
    assert await listed(runs, member_id="bob") == ["e2"]
    assert await listed(runs, execution_id="e1") == ["e1"]
    assert await listed(runs, execution_id="elsewhere") == []
    assert await listed(runs, team_id="initech") == ["elsewhere"]


async def test_what_is_decided_is_listed_no_more(runs: Runs) -> None:
    run = asking("e1", calls=2)
    await parked(runs, run)
    first = run.approvals[0]
    signal = a_signal(DECISION, "d1", approval=first.approval_id, decision="approve", by="member:ann")
    assert await runs.deliver_signal("e1", signal) is SignalResult.ACCEPTED
    assert await runs.deliver_signal("e1", signal) is SignalResult.DUPLICATE
    claimed = await runs.claim("e1", owner="second", lease=timedelta(minutes=1))
    assert claimed is not None
    after, epoch, _ = claimed
    after = await runs.release(control.apply_signals(after, now=NOON), epoch, check_in=None)
    assert [use.status for use in after.execution.results[0].turns[0].rounds[0].uses] == [
        ToolStatus.PENDING,
        ToolStatus.WAITING,
    ]
    page = await runs.pending_approvals(ListApprovals(team_id=TEAM), after=None)
    assert [each.approval_id for each in page.approvals] == [run.approvals[1].approval_id]
    decided = bare(await runs.by_approval(first.approval_id)).approvals[0]
    assert (decided.status, decided.decided_by) == ("approved", "member:ann")


async def test_a_run_whose_approval_has_expired_is_overdue_by_the_stores_clock(runs: Runs) -> None:  # DEC-10
    await parked(runs, asking("late", at=now() - timedelta(days=4)))
    await parked(runs, asking("waits", at=now()))
    assert await overdue(runs) == ["late"]
    found = await runs.find("waits")
    assert found is not None
    assert found.execution.status is ExecStatus.WAITING
