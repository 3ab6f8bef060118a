"""Goals that go to another run of the robot, over a real bus and a real database (SC-13)."""

import asyncio

from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.testing.bus import short_ack_wait, stored
from rota_common.testing.crash import crash
from rota_common.testing.patience import PATIENCE_S
from rota_common.testing.samples import MEMBER, NOON, TEAM, a_robot
from rota_contracts import catalog
from rota_contracts.messages.execution import ExecStatus, Execution
from rota_contracts.messages.goal_merge import MergeInto, MergeReply, Waiting
from rota_contracts.messages.learning import CheckGoals, DedupDecision, GoalsReply
from rota_contracts.messages.trigger import TriggerType
from tests.integration.executor.harness import Harness
from tests.integration.executor.test_crashes import QUICK, stuck

PROCEED = GoalsReply(decision=DedupDecision.PROCEED)
WANTED = "## Goals\n1. Deal with lead.created: Globex"


def into(execution_id: str) -> GoalsReply:
    return GoalsReply(decision=DedupDecision.MERGE, reason="it is at it", into=execution_id)


class Learner:
    """Lets `merging` runs merge into `target`, and all others go on."""

    def __init__(self, system: Harness, target: str, *merging: str) -> None:
        self.asked = dict[str, CheckGoals]()
        self._target, self._merging = target, merging
        system.compare = self._compare

    def _compare(self, asked: CheckGoals) -> GoalsReply:
        self.asked[asked.execution_id] = asked
        return into(self._target) if asked.execution_id in self._merging else PROCEED


async def deduping(system: Harness) -> None:
    await system.keep(
        a_robot(config={"resources": {"agents": ["experts.scorer", "experts.writer"]}, "dedup": {"on": True}}, rev=2)
    )


async def at_its_tasks(system: Harness, execution_id: str) -> None:
    """A run begins, and waits for a verdict that doesn't come yet."""
    system.silent = {"validator"}
    await system.request(execution_id)
    await asyncio.wait_for(system.ignored.get(), PATIENCE_S)


def merged(execution: Execution) -> bool:
    return execution.status.over and execution.skipped is not None


async def test_goals_go_to_a_run_that_is_under_way(system: Harness) -> None:  # SC-13
    await deduping(system)
    learner = Learner(system, "e1", "e2")
    async with system.executor(**QUICK), system.executor(**QUICK):
        await at_its_tasks(system, "e1")
        await system.request("e2")
        second = await system.until(merged, "e2")
        system.silent.clear()
        first = await system.until(lambda execution: execution.status.over, "e1")
        replays = [await system.replay(execution_id) for execution_id in ("e1", "e2")]
    named = [(each.execution_id, each.status) for each in learner.asked["e2"].under_way]
    assert named == [("e1", "running")]
    assert (second.status, second.skipped, second.tasks) == (ExecStatus.COMPLETED, "merged into e1: it is at it", None)
    assert (second.content, second.delivery) == (None, None)
    (given,) = first.interventions
    assert (given.action, given.text, given.effect) == ("goal.add", WANTED, "planned again after the current task")
    assert f"(added from execution e2) {WANTED}" in (first.goals.content if first.goals else "")
    assert (first.status, first.delivery is not None) == (ExecStatus.COMPLETED, True)
    assert [(replay.same, replay.difference) for replay in replays] == [(True, "")] * 2
    summaries = [event.data for event in await stored(system.nats_url, catalog.LEARNING_REQUESTED)]
    statuses = {asked.execution_id: asked.summary.status for asked in summaries}
    assert statuses == {"e1": "completed", "e2": "nothing to do: merged into e1: it is at it"}
    (fact,) = await stored(system.nats_url, catalog.EXECUTION_INTERVENED)
    assert (fact.data.execution_id, fact.data.text) == ("e1", WANTED)


async def test_goals_go_to_a_run_that_waits_for_its_slot(system: Harness) -> None:  # SC-13
    await deduping(system)
    learner, asked = Learner(system, "q1", "e1"), list[MergeInto]()
    system.waiting = [Waiting(execution_id="q1", type=TriggerType.CLOCK, about="the clock", queued_at=NOON)]

    def merge(question: MergeInto) -> MergeReply:
        asked.append(question)
        return MergeReply(done=True)

    system.merge = merge
    async with system.executor():
        await system.request("e1")
        done = await system.over()
    assert [(each.execution_id, each.status) for each in learner.asked["e1"].under_way] == [("q1", "queued")]
    (question,) = asked
    assert (question.team_id, question.member_id, question.execution_id) == (TEAM, MEMBER, "q1")
    assert (question.goals, done.skipped) == (WANTED, "merged into q1: it is at it")


async def test_a_run_whose_goals_are_not_taken_reaches_them_itself(system: Harness) -> None:  # SC-13
    await deduping(system)
    Learner(system, "q1", "e1")
    async with system.executor():
        await system.request("e1")
        gone = await system.over()
    assert (gone.status, gone.skipped, gone.delivery is not None) == (ExecStatus.COMPLETED, None, True)
    assert gone.notes == ["goals: not merged into execution q1: it is over, or about to be"]


async def test_after_a_crash_between_giving_and_saving_the_goals_are_given_once(
    system: Harness, nats: EmbeddedServer
) -> None:  # F9 SC-13
    await short_ack_wait(nats.url, "executor")
    await deduping(system)
    Learner(system, "e1", "e2")
    first = await system.start(**QUICK)
    await at_its_tasks(system, "e1")
    reached = stuck(first.service, catalog.EXECUTION_INTERVENED)
    await system.request("e2")
    await asyncio.wait_for(reached.wait(), PATIENCE_S)
    await crash(first.service)
    async with system.executor(**QUICK):
        second = await system.until(merged, "e2")
        system.silent.clear()
        first_run = await system.until(lambda execution: execution.status.over, "e1")
    assert second.skipped == "merged into e1: it is at it"
    assert [trace.action for trace in first_run.interventions] == ["goal.add"]
