"""Has this been done already, or is it being done (SC-13)? What is kept for that, and the decision over new goals."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from rota_contracts.messages.execution import excerpt
from rota_contracts.messages.learning import CheckGoals, DedupDecision, GoalsReply, LearningRequestedV1, UnderWay
from rota_contracts.model import Json

KEEP_DAYS = 30
NEWEST = 10
"""Runs that new goals are held against, at most."""

REASON_LIMIT, GOALS_LIMIT = 500, 20_000

GOING_ON = frozenset({"running", "pending", "queued", "waiting"})
"""Without an agent, only an execution with one of these statuses is given more goals: a paused one may stay so."""


@dataclass(frozen=True, slots=True)
class PastRun:
    """A run that is over. `rev` is the robot's revision at that time (0 = nobody knew the robot)."""

    execution_id: str
    team: str
    member: str
    rev: int
    goals: str
    about: str
    status: str
    delivered: str
    at: datetime


@dataclass(frozen=True, slots=True)
class GoalsDecision:
    """What is answered about the goals of a run; asked again, the answer is the same.

    Until it is `sure` it isn't answered: the run that is to take the goals over may end as well.
    """

    execution_id: str
    team: str
    member: str
    rev: int
    checked: GoalsReply
    at: datetime
    sure: bool = True


def past_run(request: LearningRequestedV1, *, rev: int, at: datetime) -> PastRun:
    summary = request.summary
    return PastRun(
        execution_id=request.execution_id,
        team=request.team_id,
        member=request.member_id,
        rev=rev,
        goals=summary.goals,
        about=summary.trigger,
        status=summary.status,
        delivered=summary.delivered,
        at=at,
    )


def proceed(reason: str) -> GoalsReply:
    return GoalsReply(decision=DedupDecision.PROCEED, reason=reason)


def others_under_way(asked: CheckGoals) -> list[UnderWay]:
    """What the run may be merged into: not into itself, and with no goals into nothing."""
    return [one for one in asked.under_way if one.execution_id != asked.execution_id and asked.goals.strip()]


def by_rule(asked: CheckGoals, history: Sequence[PastRun], why: str) -> GoalsReply:
    """Without an agent only equal goals are the same; `why` there is no agent's answer is part of the reason."""
    goals = _plain(asked.goals)
    done = next((run for run in history if _plain(run.goals) == goals), None)
    if done is not None:
        reason = f"a run of {done.at.isoformat(timespec='minutes')} had the same goals; decided by rule, because {why}"
        return GoalsReply(decision=DedupDecision.SKIP, reason=reason, execution_id=done.execution_id)
    others = (one for one in others_under_way(asked) if one.status in GOING_ON)
    same = next((one for one in others if _plain(one.goals) == goals), None)
    if same is None:
        return proceed(f"no other run had the same goals; decided by rule, because {why}")
    reason = f"a run that is {same.status} has the same goals; decided by rule, because {why}"
    return _merge(asked, same.execution_id, reason)


def understood(found: Json, asked: CheckGoals, history: Sequence[PastRun]) -> GoalsReply | None:
    """The decision in an agent's answer; None if there is none that can be carried out."""
    if not isinstance(found, dict):
        return None
    decision, reason = str(found.get("decision")).strip().lower(), excerpt(found.get("reason") or "", REASON_LIMIT)
    goals, named = _text(found.get("goals")), found.get("execution_id")
    going_on = [one.execution_id for one in others_under_way(asked)]
    usable = {"skip": bool(history), "merge": bool(goals), "proceed": True}
    if decision == DedupDecision.SKIP and named in going_on:
        return _merge(asked, str(named), reason)  # it isn't done yet, and may fail
    if decision == DedupDecision.MERGE and found.get("into") in going_on:
        return _merge(asked, str(found["into"]), reason, goals=goals)
    if not usable.get(decision, False):
        return None
    return GoalsReply(
        decision=DedupDecision(decision),
        reason=reason,
        execution_id=next((run.execution_id for run in history if run.execution_id == named), None),
        goals=goals if decision == DedupDecision.MERGE else None,
    )


def decided(asked: CheckGoals, rev: int, checked: GoalsReply) -> GoalsDecision:
    names = (asked.execution_id, asked.team_id, asked.member_id)
    return GoalsDecision(*names, rev, checked, asked.asked_at, sure=checked.into is None)


def made_sure(unsure: GoalsDecision, target: GoalsDecision | None) -> GoalsDecision:
    """`target` is what was decided over the run that is to take the goals over, if anything was."""
    if target is None or not ends(target.checked):
        return replace(unsure, sure=True)
    reason = f"it was to be merged into {unsure.checked.into}, which doesn't go on itself"
    return replace(unsure, checked=proceed(reason), sure=True)


def ends(checked: GoalsReply) -> bool:
    """Does the run that this was decided about end here, with its goals left to another?"""
    return checked.decision is DedupDecision.SKIP or checked.into is not None


def _merge(asked: CheckGoals, into: str, reason: str, *, goals: str = "") -> GoalsReply:
    """Into an execution that is under way: with `goals`, else with all that were asked about."""
    goals = goals or asked.goals[:GOALS_LIMIT]
    return GoalsReply(decision=DedupDecision.MERGE, reason=reason, execution_id=into, goals=goals, into=into)


def _text(given: Json) -> str:
    return given.strip()[:GOALS_LIMIT] if isinstance(given, str) else ""


def _plain(goals: str) -> str:
    """Goals that differ in white space and case alone are equal."""
    return " ".join(goals.split()).casefold()
