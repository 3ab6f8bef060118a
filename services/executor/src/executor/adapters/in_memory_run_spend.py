"""Sums of what runs have spent, in memory."""

from collections.abc import Iterator, Sequence

from rota_contracts.messages.execution import Execution
from rota_contracts.messages.spend import ReadSpend, SpendReply, SpendRow
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


def _shares(executions: Sequence[Execution]) -> Iterator[tuple[str, UsageShare]]:
    for each in executions:
        yield from ((each.member_id, share) for share in each.usage.shares)
