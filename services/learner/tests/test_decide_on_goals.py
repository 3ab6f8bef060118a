"""The decision over new goals: the agent's call, its decision, and decisions that stay."""

import asyncio
import json
from typing import Any

import pytest
from services.learner.tests import harness
from services.learner.tests.harness import GOALS, HOUR, NOON

from learner.adapters.in_memory import InMemoryHistory, ScriptedAgents
from learner.history import GoalsDecision
from rota_common.errors import Permanent, Transient
from rota_contracts.messages.agent import AgentReply, CallAgent
from rota_contracts.messages.learning import UnderWay
from rota_contracts.messages.usage import ModelCall

SKIP = {"decision": "skip", "reason": "The report is out.", "execution_id": "e1"}
MERGE = {"decision": "merge", "reason": "Half of it is out.", "execution_id": "e1", "goals": "1. Only the new leads"}


def Learner(answer: Any = SKIP, **given: Any) -> harness.Learner:  # noqa: N802  # reads as a class
    return harness.Learner(answer, **given)


async def test_without_an_earlier_run_no_agent_is_called() -> None:  # SC-13
    learner = Learner()
    assert (await learner.check()).decision == "proceed"
    assert learner.agents.calls == []


async def test_only_other_completed_runs_of_the_window_count() -> None:  # SC-13
    learner = Learner()
    await learner.ran("failed", status="failed")
    await learner.ran("old", at=NOON - 25 * HOUR)
    await learner.ran("e2")
    assert (await learner.check("e2")).decision == "proceed"
    assert learner.agents.calls == []


async def test_the_reply_says_what_the_agents_call_took_whatever_it_decides() -> None:  # EX-63
    call = ModelCall(model="small", cost=0.1, currency="USD")
    for answer, decision in ((SKIP, "skip"), ("hm", "skip")):
        learner = Learner(answer)
        learner.agents.call = call
        await learner.ran("e1")
        reply = await learner.check()
        assert (reply.decision, reply.calls) == (decision, [call])


def framed(text: str) -> Any:
    """The JSON that stands in the prompt's frame."""
    return json.loads(text.partition('name="runs">\n')[2].partition("\n</material-")[0])


async def test_the_agent_sees_the_goals_and_the_newest_runs() -> None:  # SC-13
    learner = Learner()
    for number in range(12):
        await learner.ran(f"run-{number}", at=NOON - number * HOUR)
    await learner.check(agent="acme.dedup", about="every Monday")
    (call,) = learner.agents.calls
    assert (call.call_id, call.assistant_id, call.execution_id, call.timeout) == ("dedup:e2", "acme.dedup", "e2", 45)
    shown = framed(call.messages[0].text())
    assert (shown["goals"], shown["about"]) == (GOALS, "every Monday")
    assert [run["execution_id"] for run in shown["history"]] == [f"run-{number}" for number in range(10)]
    assert shown["history"][0] == {
        "execution_id": "run-0",
        "at": "2026-03-02T12:00:00+00:00",
        "about": "clock",
        "goals": GOALS,
        "delivered": "7 leads",
    }
    assert call.metadata == {"history": shown["history"], "under_way": []}


@pytest.mark.parametrize(
    ("answer", "decided"),
    [
        (SKIP, {"decision": "skip", "reason": "The report is out.", "execution_id": "e1", "goals": None}),
        (MERGE, MERGE),
        (
            SKIP | {"execution_id": "made up"},
            {"decision": "skip", "reason": "The report is out.", "execution_id": None},
        ),
        ({"decision": " Proceed ", "goals": "x"}, {"decision": "proceed", "reason": "", "goals": None}),
        (f"I think:\n```json\n{json.dumps(MERGE)}\n```", MERGE),
    ],
)
async def test_the_agent_decides(answer: Any, decided: dict[str, Any]) -> None:  # SC-13
    learner = Learner(answer)
    await learner.ran()
    checked = (await learner.check()).model_dump(mode="json")
    assert {name: checked[name] for name in decided} == decided


def under_way(execution_id: str = "e7", status: str = "running", goals: str = "", about: str = "") -> UnderWay:
    return UnderWay(execution_id=execution_id, status=status, goals=goals, about=about)


INTO = {"decision": "merge", "reason": "It is at it.", "into": "e7", "goals": "1. Also the new leads"}


async def test_the_agent_sees_the_other_runs_under_way() -> None:  # SC-13
    learner = Learner(INTO)
    others = [under_way(), under_way("e8", "queued", about="webhook crm"), under_way("e2", goals=GOALS)]
    await learner.check("e2", under_way=others)
    (call,) = learner.agents.calls
    shown = framed(call.messages[0].text())
    assert [one["execution_id"] for one in shown["under_way"]] == ["e7", "e8"]
    assert shown["under_way"][1] == {"execution_id": "e8", "status": "queued", "about": "webhook crm", "goals": ""}
    assert call.metadata == {"history": [], "under_way": shown["under_way"]}


async def test_the_agent_sees_many_runs_under_way_in_part() -> None:
    learner = Learner()
    await learner.check(under_way=[under_way(f"x{number}", goals="g" * 20_000) for number in range(100)])
    assert len(learner.agents.calls[0].messages[0].text()) < 90_000
    assert len(learner.agents.calls[0].metadata["under_way"]) == 20


@pytest.mark.parametrize(
    ("answer", "goals"),
    [
        (INTO, "1. Also the new leads"),
        (INTO | {"goals": " "}, GOALS),
        ({"decision": "skip", "reason": "It is at it.", "execution_id": "e7"}, GOALS),
    ],
)
async def test_the_agent_names_the_run_that_takes_the_goals(answer: Any, goals: str) -> None:  # SC-13
    learner = Learner(answer)
    checked = await learner.check(under_way=[under_way()])
    assert (checked.decision, checked.into, checked.execution_id) == ("merge", "e7", "e7")
    assert (checked.goals, checked.reason) == (goals, "It is at it.")


@pytest.mark.parametrize("into", ["made up", "e2", "", None, 7, ["e7"], {"e7": 1}])
async def test_a_merge_into_no_run_under_way_keeps_the_goals(into: Any) -> None:  # SC-13
    learner = Learner(INTO | {"into": into})
    checked = await learner.check("e2", under_way=[under_way(), under_way("e2")])
    assert (checked.decision, checked.into, checked.goals) == ("merge", None, "1. Also the new leads")


async def test_a_run_that_is_not_completed_is_no_reason_to_skip() -> None:
    learner = Learner({"decision": "skip", "execution_id": "e1"})
    checked = await learner.check(under_way=[under_way()])
    assert (checked.decision, "gave no decision" in checked.reason) == ("proceed", True)


@pytest.mark.parametrize(
    ("status", "goals", "decision"),
    [
        (status, "## goals  1. report the WEEK's leads", "merge")
        for status in ("running", "pending", "queued", "waiting")
    ]
    + [("paused", GOALS, "proceed"), ("running", "1. Something else", "proceed"), ("queued", "", "proceed")],
)
async def test_without_an_agent_equal_goals_under_way_are_merged(
    status: str, goals: str, decision: str
) -> None:  # SC-13
    learner = Learner()
    learner.agents.error = "no model is configured"
    checked = await learner.check(under_way=[under_way("e6", goals="1. Other"), under_way("e7", status, goals)])
    assert checked.decision == decision
    assert checked.reason.endswith("the dedup agent rota.dedup failed: no model is configured")
    if decision == "merge":
        assert (checked.into, checked.execution_id, checked.goals) == ("e7", "e7", GOALS)


async def test_without_an_agent_completed_runs_count_first() -> None:  # SC-13
    learner = Learner("")
    await learner.ran("e1")
    checked = await learner.check(under_way=[under_way("e7", goals=GOALS)])
    assert (checked.decision, checked.execution_id, checked.into) == ("skip", "e1", None)


async def test_a_run_without_goals_is_not_merged() -> None:
    learner = Learner(INTO)
    checked = await learner.check(goals="  ", under_way=[under_way("e7")])
    assert (checked.decision, learner.agents.calls) == ("proceed", [])


async def test_a_repeated_request_names_the_same_run_to_merge_into() -> None:  # SC-13
    learner = Learner(INTO)
    first = await learner.check(under_way=[under_way(), under_way("e8")])
    learner.agents.content = json.dumps(INTO | {"into": "e8"})
    assert await learner.check(under_way=[]) == first
    assert (first.into, len(learner.agents.calls)) == ("e7", 1)


async def test_runs_that_are_compared_at_once_do_not_all_end() -> None:  # SC-13
    class AtOnce(ScriptedAgents):
        """Each run goes into the next one, once all have asked."""

        async def answer(self, call: CallAgent) -> AgentReply:
            self.calls.append(call)
            await asked.wait() if len(self.calls) < 3 else asked.set()
            into = {"e1": "e2", "e2": "e3", "e3": "e1"}[call.execution_id or ""]
            return AgentReply(agent_id=call.assistant_id, content=json.dumps(INTO | {"into": into}))

    asked, learner, agents = asyncio.Event(), Learner(), AtOnce()
    runs = ("e1", "e2", "e3")
    others = [under_way(run, goals=GOALS) for run in runs]
    checked = await asyncio.gather(*(learner.check(run, agents=agents, under_way=others) for run in runs))
    goes_on = [one for one in checked if one.into is None]
    assert goes_on
    assert {one.decision for one in goes_on} == {"proceed"}
    assert [await learner.check(run) for run in runs] == checked


async def test_a_decision_that_a_crash_left_unsure_is_confirmed_before_it_is_returned() -> None:  # SC-13
    class Crashing(InMemoryHistory):
        async def confirm(self, decision: GoalsDecision) -> GoalsDecision:
            raise ConnectionError

    learner = Learner(INTO, history=Crashing())
    with pytest.raises(ConnectionError):
        await learner.check("e2", under_way=[under_way()])
    whole = InMemoryHistory()
    whole._decisions = learner.history._decisions
    learner.history = whole
    learner.agents.content = json.dumps(INTO | {"into": "e2"})
    assert (await learner.check("e7", under_way=[under_way("e2")])).decision == "proceed"
    assert (await learner.check("e2")).into == "e7"


async def test_a_run_that_ends_itself_takes_no_goals() -> None:  # SC-13
    learner = Learner(INTO)
    assert (await learner.check("e2", under_way=[under_way()])).into == "e7"
    learner.agents.content = json.dumps(INTO | {"into": "e2"})
    checked = await learner.check("e7", under_way=[under_way("e2", goals=GOALS)])
    assert (checked.decision, checked.into) == ("proceed", None)
    assert checked.reason == "it was to be merged into e2, which doesn't go on itself"
    assert await learner.check("e7") == checked


async def test_a_run_whose_goals_went_to_another_is_a_reason_to_skip_only_if_it_went_on() -> None:  # SC-13
    learner = Learner(INTO)
    for run in ("e2", "e3"):
        assert (await learner.check(run, under_way=[under_way()])).into == "e7"
    await learner.ran("e2", at=NOON)
    assert await learner.history.completed("acme", "leads", since=NOON, limit=10) == []
    await learner.ran("e3", at=NOON, tasks=[{"description": "look", "status": "completed"}])
    assert [run.execution_id for run in await learner.history.completed("acme", "leads", since=NOON, limit=1)] == ["e3"]


UNUSABLE = ["", "Done already.", "[1]", {"decision": "maybe"}, {"goals": "x"}, MERGE | {"goals": " "}]


@pytest.mark.parametrize("answer", UNUSABLE)
@pytest.mark.parametrize(
    ("goals", "decision", "execution_id"),
    [("## goals\n\n  1. report the WEEK's leads ", "skip", "e1"), ("1. Something else", "proceed", None)],
)
async def test_without_an_agents_decision_equal_goals_are_skipped(
    answer: Any, goals: str, decision: str, execution_id: str | None
) -> None:  # SC-13
    learner = Learner(answer)
    await learner.ran()
    checked = await learner.check(goals=goals)
    assert (checked.decision, checked.execution_id) == (decision, execution_id)
    assert "the dedup agent rota.dedup gave no decision" in checked.reason


@pytest.mark.parametrize("error", [Transient("executor isn't there"), Permanent("no such agent")])
async def test_the_rule_decides_when_the_agent_cannot_be_called(error: Exception) -> None:  # SC-13
    class Away(ScriptedAgents):
        async def answer(self, call: CallAgent) -> AgentReply:
            raise error

    learner = Learner()
    await learner.ran()
    checked = await learner.check(agents=Away())
    assert checked.decision == "skip"
    assert f"can't be asked: {error}" in checked.reason


async def test_the_rule_decides_when_the_agent_fails() -> None:  # SC-13
    learner = Learner()
    learner.agents.error = "out of budget"
    await learner.ran()
    checked = await learner.check(goals="1. Something else")
    assert checked.decision == "proceed"
    assert checked.reason.endswith("the dedup agent rota.dedup failed: out of budget")


async def test_a_repeated_request_gets_the_same_reply() -> None:  # SC-13
    learner = Learner(MERGE)
    before = await learner.check("e0")
    await learner.ran()
    first = await learner.check("e2")
    learner.agents.content = json.dumps(SKIP)
    assert (await learner.check("e0"), await learner.check("e2")) == (before, first)
    assert (before.decision, first.decision) == ("proceed", "merge")
    assert len(learner.agents.calls) == 1


async def test_a_run_that_was_skipped_is_no_reason_to_skip_the_next() -> None:
    learner = Learner()
    await learner.ran("e1", at=NOON - 20 * HOUR)
    assert (await learner.check("e2")).decision == "skip"
    await learner.ran("e2", at=NOON)
    assert (await learner.check("e3", asked_at=NOON + 20 * HOUR)).decision == "proceed"


async def test_a_deleted_robot_leaves_no_history() -> None:  # LE-07
    learner = Learner()
    await learner.ran("e1")
    await learner.check("e2")
    learner.robot(2, deleted=True)
    await learner.forget_robot(2)
    await learner.ran("e3")
    assert (await learner.check("e4")).reason == "the robot was deleted"
    assert await learner.history.completed("acme", "leads", since=NOON - 24 * HOUR, limit=10) == []
    assert [await learner.history.decision(run) for run in ("e2", "e4")] == [None, None]


async def test_what_is_saved_while_its_robot_is_being_deleted_does_not_survive() -> None:  # LE-07
    class Deleting(InMemoryHistory):
        async def save_decision(self, decision: GoalsDecision) -> GoalsDecision:
            learner.robot(2, deleted=True)
            return await super().save_decision(decision)

    learner = Learner(history=Deleting())
    await learner.check("e2")
    assert await learner.history.decision("e2") is None
