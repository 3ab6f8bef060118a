"""Spending below ceilings: the limits that hold for a call of a model, what it needs at most, and the wait for room."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from executor.domain.run import Need, Run
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.run_history import PendingQuestion
from rota_contracts.messages.usage import DIGITS, ModelCall, Usage
from rota_contracts.robots.ceilings import Ceiling, Ceilings

NONE = Ceilings()
BILLION = 1_000_000_000
"""Money is counted in billionths: exact, and prices of a single token are whole numbers of them."""


@dataclass(frozen=True)
class Payer:
    """Whose call it is. `own`: the robot's ceilings as the run, or the caller, has them; `execution` may be empty."""

    team: str
    member: str
    agent: str
    execution: str = ""
    own: Ceilings = NONE


def payer_of(run: Run, agent: str) -> Payer:
    execution = run.execution
    return Payer(execution.team_id, execution.member_id, agent, run.id, run.robot.robot_config.ceilings)


@dataclass(frozen=True)
class Limit:
    """One counter, by its `key`, and how far it may go; `whose` is for people. A `daily` one begins anew each day
    (UTC, by the store's clock). `money` in billionths."""

    key: str
    whose: str
    daily: bool
    currency: str
    money: int | None = None
    tokens: int | None = None

    @property
    def scope(self) -> str:
        """run, robot or team."""
        return self.key.partition(":")[0]

    def words(self) -> str:
        most = [f"{self.money / BILLION:g} {self.currency}"] if self.money is not None else []
        most += [f"{self.tokens} tokens"] if self.tokens is not None else []
        return f"the ceiling of {self.whose} ({' and '.join(most)}{' a day' if self.daily else ''})"


def limits_of(payer: Payer, own: Ceilings, team: Ceilings) -> Sequence[Limit]:
    """The narrowest first. `own`: the robot's ceilings as they are now."""
    runs = [(each.run, each.currency) for each in (own, team) if payer.execution and each.run.there]
    limits = [_limit(f"run:{payer.execution}", "this run", False, *each) for each in runs]
    if own.day.there:
        robot = f"robot:{payer.team}.{payer.member}"
        limits.append(_limit(robot, f"robot {payer.member}", True, own.day, own.currency))
    if team.day.there:
        limits.append(_limit(f"team:{payer.team}", f"team {payer.team}", True, team.day, team.currency))
    return _merged(limits)


def _limit(key: str, whose: str, daily: bool, ceiling: Ceiling, currency: str) -> Limit:
    money = None if ceiling.money is None else int(ceiling.money * BILLION)
    return Limit(f"{key}:{currency}", whose, daily, currency, money, ceiling.tokens)


def _merged(limits: Sequence[Limit]) -> Sequence[Limit]:
    """One limit for each counter: of two ceilings the lower."""
    found: dict[str, Limit] = {}
    for each in limits:
        other = found.get(each.key, each)
        money, tokens = _least(each.money, other.money), _least(each.tokens, other.tokens)
        found[each.key] = Limit(each.key, each.whose, each.daily, each.currency, money, tokens)
    return [*found.values()]


def _least(*numbers: int | None) -> int | None:
    return min((number for number in numbers if number is not None), default=None)


def at_ceiling(run: Run, question: str, need: Need, now: datetime) -> Run:
    """The run that asks a person for room below a ceiling; its step begins again once there is some."""
    asked = PendingQuestion(question=question, asked_at=now)
    run = run.model_copy(update={"ceiling": need, "retry_at": None})
    return run.with_execution(question=asked, status=ExecStatus.WAITING, delayed=None)


def tries_again(run: Run) -> Run:
    return run.model_copy(update={"ceiling": None}).with_execution(question=None)


def summed(calls: Sequence[ModelCall]) -> ModelCall:
    """Several calls as one, under the names of the last. What one of them doesn't say isn't known of all."""
    usages, costs = [call.usage for call in calls], [call.cost for call in calls]
    usage = None
    if None not in usages:
        names = Usage.model_fields
        usage = Usage(**{name: sum(getattr(each, name) for each in usages) for name in names})
    known = [cost for cost in costs if cost is not None]
    same = len(known) == len(calls) and len({call.currency for call in calls}) == 1
    seconds = round(sum(call.seconds for call in calls), 3)
    cost = round(sum(known), DIGITS) if same else None
    return calls[-1].model_copy(update={"usage": usage, "seconds": seconds, "cost": cost})
