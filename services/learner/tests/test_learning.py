"""What is learnt from a run, and what is said when nothing is."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from learner.adapters.in_memory import (
    InMemoryHistory,
    InMemoryKnowledge,
    InMemoryLessons,
    InMemoryRobots,
    ScriptedAgents,
)
from learner.domain import RunLessons
from learner.forget_robot import ForgetRobot
from learner.learn_from_run import LearnFromRun
from rota_contracts.messages.learning import LearningCompletedV1, LearningRequestedV1, Lesson, LessonType
from rota_contracts.robots.robot import Robot

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
WELL = {
    "role": "Lead processor",
    "trigger": "event lead.created",
    "status": "completed",
    "goals": "Score the lead",
    "tasks": [{"description": "score it", "status": "completed", "output": "91/100"}],
    "delivered": "HOT: Acme",
}
BADLY = {
    "role": "Lead processor",
    "trigger": "event lead.created",
    "status": "failed",
    "error": "task t1 failed",
    "tasks": [{"description": "score it", "status": "failed", "issues": ["no score found"]}],
}
ANSWER = {
    "lessons": [
        {"type": "execution", "content": "Scoring worked."},
        {"type": "insight", "content": " Acme buys in March. "},
        {"type": "feedback", "content": "Ask for the budget."},
    ]
}


def request(**fields: Any) -> LearningRequestedV1:
    given = {"team_id": "acme", "member_id": "leads", "execution_id": "e1", "summary": WELL}
    return LearningRequestedV1.model_validate(given | fields)


class Learner:
    """The use cases, wired to dictionaries."""

    def __init__(self, answer: Any = ANSWER, *, error: str = "", lessons: InMemoryLessons | None = None) -> None:
        self.agents = ScriptedAgents(answer if isinstance(answer, str) else json.dumps(answer), error=error)
        self.lessons, self.knowledge, self.robots = lessons or InMemoryLessons(), InMemoryKnowledge(), InMemoryRobots()
        self._learn = LearnFromRun(self.agents, self.lessons, self.knowledge, self.robots, timeout=60)
        self.forget = ForgetRobot(self.lessons, InMemoryHistory())
        self.robot(1)

    def robot(self, rev: int, *, deleted: bool = False) -> None:
        names = {"team_id": "acme", "member_id": "leads"}
        definition = {**names, "rev": rev, "deleted": deleted, "robot_config": {"identity": {"role": "x"}}}
        self.robots.robots["acme", "leads"] = Robot.model_validate(definition)

    async def learn(self, **fields: Any) -> LearningCompletedV1:
        return await self._learn(request(**fields), NOON)


def said(fact: LearningCompletedV1) -> list[tuple[str, str]]:
    return [(lesson.type, lesson.content) for lesson in fact.lessons]


async def test_the_agents_lessons_are_saved_and_remembered() -> None:  # LE-01, LE-02, LE-05
    learner = Learner()
    fact = await learner.learn()
    assert said(fact) == [
        ("execution", "Scoring worked."),
        ("insight", "Acme buys in March."),
        ("feedback", "Ask for the budget."),
    ]
    assert {(lesson.execution_id, lesson.learnt_at) for lesson in fact.lessons} == {("e1", NOON)}
    assert list(learner.knowledge.kept.values()) == fact.lessons
    assert (fact.skipped, fact.error) == (None, None)


async def test_the_agent_is_told_of_the_run() -> None:  # LE-01, LE-05
    learner = Learner()
    await learner.learn(types=["insight", "feedback"])
    (call,) = learner.agents.calls
    assert (call.call_id, call.assistant_id, call.execution_id, call.timeout) == ("learn:e1", "rota.learning", "e1", 60)
    text = call.messages[0].text()
    for part in (
        "Lead processor",
        "event lead.created",
        "Score the lead",
        "1. score it: completed",
        "91/100",
        "HOT: Acme",
    ):
        assert part in text
    assert "`insight`: patterns and tips" in text
    assert "`execution`" not in text


async def test_a_long_run_is_told_in_part() -> None:
    learner = Learner()
    task = {"description": "d", "status": "completed", "output": "x" * 2000}
    await learner.learn(summary={**WELL, "tasks": [task] * 100})
    text = learner.agents.calls[0].messages[0].text()
    assert len(text) < 62_000
    assert text.rstrip().endswith("nothing to learn.")


async def test_a_failed_run_teaches_too() -> None:  # DEC-33
    learner = Learner()
    assert len((await learner.learn(summary=BADLY)).lessons) == 3
    assert "failed: task t1 failed" in learner.agents.calls[0].messages[0].text()
    assert "issue: no score found" in learner.agents.calls[0].messages[0].text()


async def test_only_the_wanted_types_are_kept() -> None:  # LE-03
    fact = await Learner().learn(types=["insight"])
    assert said(fact) == [("insight", "Acme buys in March.")]


async def test_nothing_is_learnt_where_no_type_is_wanted() -> None:  # LE-03
    learner = Learner()
    fact = await learner.learn(types=[])
    assert (fact.skipped, fact.lessons, fact.error) == ("no type of lesson is wanted", [], None)
    assert (learner.agents.calls, learner.knowledge.kept) == ([], {})


@pytest.mark.parametrize(
    "listed",
    [
        [{"type": "gossip", "content": "x"}, "a text", None, {"type": "insight"}, {"content": "x"}],
        [{"type": "insight", "content": "  "}, {"type": "insight", "content": 42}],
        [],
    ],
)
async def test_what_is_no_lesson_is_left_out(listed: list[Any]) -> None:
    fact = await Learner({"lessons": listed}).learn()
    assert (fact.lessons, fact.error, fact.skipped) == ([], None, None)


async def test_lessons_are_few_and_short() -> None:
    fact = await Learner({"lessons": [{"type": "Insight", "content": "x" * 5000}] * 30}).learn()
    assert [len(lesson.content) for lesson in fact.lessons] == [2000] * 10
    assert len({lesson.id for lesson in fact.lessons}) == 10


async def test_a_second_request_changes_nothing() -> None:
    learner = Learner()
    first = await learner.learn()
    learner.agents.content = '{"lessons": []}'
    assert await learner.learn() == first
    assert len(learner.agents.calls) == 1
    assert len(learner.knowledge.kept) == 3


async def test_the_same_answer_has_the_same_ids() -> None:
    assert (await Learner().learn()).lessons == (await Learner().learn()).lessons


async def test_an_agents_failure_is_said_and_teaches_nothing() -> None:
    learner = Learner(error="out of budget")
    fact = await learner.learn()
    assert (fact.lessons, fact.error) == ([], "the learning agent rota.learning failed: out of budget")
    assert await learner.learn() == fact
    assert len(learner.agents.calls) == 1


@pytest.mark.parametrize("answer", ["", "Nothing new.", '{"lesson": "x"}', "[1]"])
@pytest.mark.parametrize(
    ("summary", "types", "own"),
    [
        (WELL, list(LessonType), [("execution", "event lead.created: completed (HOT: Acme)")]),
        (BADLY, list(LessonType), [("feedback", "event lead.created: failed (task t1 failed; no score found)")]),
        (BADLY, ["execution"], [("execution", "event lead.created: failed (task t1 failed; no score found)")]),
        (WELL, ["insight"], []),
    ],
)
async def test_an_unreadable_answer_leaves_a_lesson_made_by_rule(
    answer: str, summary: dict[str, Any], types: list[str], own: list[tuple[str, str]]
) -> None:
    fact = await Learner(answer).learn(summary=summary, types=types)
    assert said(fact) == own
    assert fact.error is not None
    assert 'expected a JSON object with "lessons"' in fact.error


async def test_a_deleted_robot_learns_nothing() -> None:  # LE-07
    learner = Learner()
    learner.robot(2, deleted=True)
    fact = await learner.learn()
    assert (fact.skipped, fact.lessons) == ("the robot was deleted", [])
    assert learner.agents.calls == []


async def test_what_a_memory_refuses_is_not_kept_here_either() -> None:  # LE-07
    learner = Learner()
    learner.knowledge.gone.add(("acme", "leads"))
    assert (await learner.learn()).skipped == "the robot was deleted"
    assert await learner.lessons.find("e1") is None


async def test_a_lesson_saved_while_its_robot_was_being_deleted_does_not_survive() -> None:  # LE-07
    class Interrupted(InMemoryLessons):
        async def save(self, learnt: RunLessons) -> RunLessons:
            learner.robot(2, deleted=True)
            await learner.forget("acme", "leads", rev=2)
            return await super().save(learnt)

    learner = Learner({"lessons": []}, lessons=Interrupted())
    assert (await learner.learn()).skipped == "the robot was deleted"
    assert await learner.lessons.find("e1") is None


async def test_lessons_of_a_memory_that_is_away_are_saved_and_told_later() -> None:
    class Away(InMemoryKnowledge):
        async def remember(self, team: str, member: str, lessons: Sequence[Lesson]) -> int:
            raise ConnectionError

    learner = Learner()
    learner._learn._knowledge = Away()
    with pytest.raises(ConnectionError):
        await learner.learn()
    learner._learn._knowledge = learner.knowledge
    learner.agents.content = "something else"
    assert len((await learner.learn()).lessons) == 3
    assert len(learner.knowledge.kept) == 3
