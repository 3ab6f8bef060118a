"""Has this been done already (SC-13)? What is kept of each run for that, and the decision over new goals."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from rota_contracts.execution import excerpt
from rota_contracts.learning import CheckGoals, DedupDecision, GoalsChecked, LearningRequestedV1
from rota_contracts.model import Json

KEEP_DAYS = 30
NEWEST = 10
"""Runs that new goals are held against, at most."""

REASON_LIMIT, GOALS_LIMIT = 500, 20_000


@dataclass(frozen=True, slots=True)
class Past:
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
class Decided:
    """What was answered about the goals of a run; asked again, the answer is the same."""

    execution_id: str
    team: str
    member: str
    rev: int
    checked: GoalsChecked
    at: datetime


def past(request: LearningRequestedV1, *, rev: int, at: datetime) -> Past:
    summary = request.summary
    return Past(
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


def proceed(reason: str) -> GoalsChecked:
    return GoalsChecked(decision=DedupDecision.PROCEED, reason=reason)


def by_rule(asked: CheckGoals, history: Sequence[Past], why: str) -> GoalsChecked:
    """Without an agent only equal goals count as done; `why` there is no agent's answer is part of the reason."""
    same = next((run for run in history if _plain(run.goals) == _plain(asked.goals)), None)
    if same is None:
        return proceed(f"no run of late had the same goals; decided by rule, because {why}")
    reason = f"a run of {same.at.isoformat(timespec='minutes')} had the same goals; decided by rule, because {why}"
    return GoalsChecked(decision=DedupDecision.SKIP, reason=reason, execution_id=same.execution_id)


def understood(found: Json, history: Sequence[Past]) -> GoalsChecked | None:
    """The decision in an agent's answer; None if there is none that can be carried out."""
    if not isinstance(found, dict):
        return None
    decision = str(found.get("decision")).strip().lower()
    goals = found.get("goals")
    goals = goals.strip()[:GOALS_LIMIT] if isinstance(goals, str) else ""
    if decision not in list(DedupDecision) or (decision == DedupDecision.MERGE and not goals):
        return None
    named = found.get("execution_id")
    return GoalsChecked(
        decision=DedupDecision(decision),
        reason=excerpt(found.get("reason") or "", REASON_LIMIT),
        execution_id=next((run.execution_id for run in history if run.execution_id == named), None),
        goals=goals if decision == DedupDecision.MERGE else None,
    )


def _plain(goals: str) -> str:
    """Goals that differ in white space and case alone are equal."""
    return " ".join(goals.split()).casefold()
