"""Sums of what runs have spent, and of how they have ended, in memory."""

from collections.abc import Iterator, Sequence

from executor.domain.run import Run
from rota_contracts.messages.definition import CountRuns, RunCount, RunCounts
from rota_contracts.messages.execution import ExecStatus, Execution
from rota_contracts.messages.spend import ReadSpend, SpendReply, SpendRow
from rota_contracts.messages.trigger import ExecutorMode
from rota_contracts.messages.usage import DIGITS, UsageShare

SUMS = ("tokens_in", "tokens_out", "tokens_cached", "calls", "cost")


def summed(executions: Sequence[Execution], wanted: ReadSpend, *, limit: int) -> SpendReply:
    mine = [each for each in executions if each.created_at >= wanted.since]
    mine = [each for each in mine if wanted.member_id in (None, each.member_id)]
    rows: dict[tuple[str, ...], SpendRow] = {}
    for member, share in _shares(mine):
        names = {"robot": member, "agent": share.agent, "model": share.model, "day": share.day}
        key = {str(by): names[by] for by in wanted.by} | {"currency": share.currency}
        row = rows.get(tuple(key.values()), SpendRow.model_validate(key))
        sums = {name: round(getattr(row, name) + getattr(share, name), DIGITS) for name in SUMS}
        rows[tuple(key.values())] = row.model_copy(update=sums)
    ordered = sorted(rows.values(), key=lambda row: (-row.cost, -row.tokens_in))
    unpriced = sum(each.usage.unpriced for each in mine)
    return SpendReply(rows=ordered[:limit], unpriced=unpriced, left_out=max(len(ordered) - limit, 0))


def counted(runs: Sequence[Run], wanted: CountRuns) -> RunCounts:
    mine = [run for run in runs if run.execution.created_at >= wanted.since]
    mine = [run for run in mine if run.execution.executor_mode is ExecutorMode.STANDARD]
    mine = [run for run in mine if wanted.member_id in (None, run.execution.member_id)]
    return RunCounts(counts=[_count(rev, [run for run in mine if _rev(run, wanted) == rev]) for rev in wanted.revs])


def _rev(run: Run, wanted: CountRuns) -> int:
    return run.definitions_rev if wanted.member_id is None else run.execution.robot_rev


def _count(rev: int, runs: Sequence[Run]) -> RunCount:
    statuses, cost = [run.execution.status for run in runs], dict[str, float]()
    for _, share in _shares([run.execution for run in runs]):
        if share.cost:
            cost[share.currency] = round(cost.get(share.currency, 0.0) + share.cost, DIGITS)
    completed, failed = (statuses.count(status) for status in (ExecStatus.COMPLETED, ExecStatus.FAILED))
    return RunCount(rev=rev, runs=len(runs), completed=completed, failed=failed, cost=cost)


def _shares(executions: Sequence[Execution]) -> Iterator[tuple[str, UsageShare]]:
    for each in executions:
        yield from ((each.member_id, share) for share in each.usage.shares)
