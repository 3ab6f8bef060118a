"""The history of a robot's runs, and decisions over new goals: done already, under way, or to be done."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from rota_contracts.messages.execution import excerpt
from rota_contracts.messages.learning import CheckGoals, DedupDecision, GoalsReply, LearningRequestedV1, UnderWay
from rota_contracts.model import Json

KEEP_DAYS = 30
NEWEST = 10
"""Runs that new goals are compared with, at most."""

REASON_LIMIT, GOALS_LIMIT = 500, 20_000

GOING_ON = frozenset({"running", "pending", "queued", "waiting"})
"""Without an agent, only an execution with one of these statuses gets more goals: a paused one may stay so."""


@dataclass(frozen=True, slots=True)
class PastRun:
    """A finished run. `rev` is the robot's revision at that time (0 = unknown)."""

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
    """The decision over the goals of a run; it doesn't change once it is `sure`.

    Before that it isn't returned: the run that is to take the goals over may end as well.
    """

    execution_id: str
    team: str
    member: str
    rev: int
    reply: GoalsReply
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


def others_under_way(request: CheckGoals) -> list[UnderWay]:
    """The runs that this one may be merged into: not itself, and none if it has no goals."""
    return [one for one in request.under_way if one.execution_id != request.execution_id and request.goals.strip()]


def by_rule(request: CheckGoals, history: Sequence[PastRun], why: str) -> GoalsReply:
    """Without an agent only equal goals are the same; `why` there is no agent's answer is part of the reason."""
    goals = _plain(request.goals)
    done = next((run for run in history if _plain(run.goals) == goals), None)
    if done is not None:
        reason = f"a run of {done.at.isoformat(timespec='minutes')} had the same goals; decided by rule, because {why}"
        return GoalsReply(decision=DedupDecision.SKIP, reason=reason, execution_id=done.execution_id)
    others = (one for one in others_under_way(request) if one.status in GOING_ON)
    same = next((one for one in others if _plain(one.goals) == goals), None)
    if same is None:
        return proceed(f"no other run had the same goals; decided by rule, because {why}")
    reason = f"a run that is {same.status} has the same goals; decided by rule, because {why}"
    return _merge(request, same.execution_id, reason)


def read_decision(found: Json, request: CheckGoals, history: Sequence[PastRun]) -> GoalsReply | None:
    """The decision in an agent's answer; None if it holds none that can be carried out."""
    if not isinstance(found, dict):
        return None
    decision, reason = str(found.get("decision")).strip().lower(), excerpt(found.get("reason") or "", REASON_LIMIT)
    goals, named = _text(found.get("goals")), found.get("execution_id")
    going_on = [one.execution_id for one in others_under_way(request)]
    usable = {"skip": bool(history), "merge": bool(goals), "proceed": True}
    if decision == DedupDecision.SKIP and named in going_on:
        return _merge(request, str(named), reason)  # it isn't done yet, and may fail
    if decision == DedupDecision.MERGE and found.get("into") in going_on:
        return _merge(request, str(found["into"]), reason, goals=goals)
    if not usable.get(decision, False):
        return None
    return GoalsReply(
        decision=DedupDecision(decision),
        reason=reason,
        execution_id=next((run.execution_id for run in history if run.execution_id == named), None),
        goals=goals if decision == DedupDecision.MERGE else None,
    )


def decision_on(request: CheckGoals, rev: int, reply: GoalsReply) -> GoalsDecision:
    names = (request.execution_id, request.team_id, request.member_id)
    return GoalsDecision(*names, rev, reply, request.asked_at, sure=reply.into is None)


def confirmed(unsure: GoalsDecision, target: GoalsDecision | None) -> GoalsDecision:
    """`target` is the decision over the run that is to take the goals over, if there is one."""
    if target is None or not ends_run(target.reply):
        return replace(unsure, sure=True)
    reason = f"it was to be merged into {unsure.reply.into}, which doesn't go on itself"
    return replace(unsure, reply=proceed(reason).model_copy(update={"calls": unsure.reply.calls}), sure=True)


def ends_run(reply: GoalsReply) -> bool:
    """Does the run end here, its goals done or left to another?"""
    return reply.decision is DedupDecision.SKIP or reply.into is not None


def _merge(request: CheckGoals, into: str, reason: str, *, goals: str = "") -> GoalsReply:
    """Merge into an execution under way: with `goals`, else with all goals of the request."""
    goals = goals or request.goals[:GOALS_LIMIT]
    return GoalsReply(decision=DedupDecision.MERGE, reason=reason, execution_id=into, goals=goals, into=into)


def _text(given: Json) -> str:
    return given.strip()[:GOALS_LIMIT] if isinstance(given, str) else ""


def _plain(goals: str) -> str:
    """Goals that differ in white space and case alone are equal."""
    return " ".join(goals.split()).casefold()
