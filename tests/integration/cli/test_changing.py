"""The commands that change what runs, against a real gateway whose scheduler and executor are stand-ins."""

import json

import pytest

from rota_contracts.messages.delivery import AttemptDetail, ChannelResult, DeliveryReply, DeliveryType, TargetDetail
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.replay import Decision, ReplayReply
from rota_contracts.messages.run_history import PendingQuestion
from tests.integration.cli.world import World
from tests.integration.gateway.standins import AT, DeliveryCenter

pytestmark = pytest.mark.integration


async def test_a_run_is_told_something_and_stopped(world: World) -> None:  # TG-06, TG-16
    world.executor.give("e1")
    said = await world.works("intervene", "leader", "--action", "goal.add", "-m", "Ask for Friday")
    assert said == "execution e1: given to the execution, which heeds it at its next step\n"
    assert world.executor.words[0].messages[0].text() == "Ask for Friday"
    stopped = await world.works("stop", "e1", "--reason", "wrong prices")
    assert stopped == "e1: stop\n1 execution told to stop\n"
    assert world.executor.controls[0].reason == "wrong prices"


async def test_which_of_several_runs_is_meant_must_be_said(world: World) -> None:  # DEC-35
    world.executor.give("e1", "e2")
    refused = await world.run("intervene", "leader", "--action", "instruct", "-m", "Hurry")
    assert refused.returncode == 1
    assert "execution_id: expected one of e1, e2" in refused.stderr
    await world.works("intervene", "leader", "--action", "instruct", "-m", "Hurry", "--execution", "e2")
    assert world.executor.words[0].execution_id == "e2"


async def test_a_run_that_waits_is_answered(world: World) -> None:
    world.executor.give("e1", status=ExecStatus.WAITING)
    asked = PendingQuestion(question="Which offer?", asked_at=AT)
    world.executor.has = [run.model_copy(update={"question": asked}) for run in world.executor.has]
    assert "asks      Which offer?" in await world.works("executions", "show", "e1")
    await world.works("answer", "e1", "The second")
    word = world.executor.words[0]
    assert (word.action, word.execution_id, word.messages[0].text()) == ("instruct", "e1", "The second")


async def test_a_plan_is_made_listed_changed_and_removed(world: World) -> None:  # TG-09
    made = await world.works("plan", "add", "leader", "-m", "Review", "--at", "2030-01-01T09:00:00+01:00", "--json")
    plan_id = json.loads(made)["plan_id"]
    assert plan_id in await world.works("plan", "--member", "leader")
    await world.works("plan", "update", "leader", plan_id, "--at", "2031-01-01T09:00:00+01:00")
    assert "2031-01-01" in await world.works("plan")
    await world.works("plan", "remove", "leader", plan_id)
    assert "removed" in await world.works("plan")


async def test_the_team_is_paused_and_resumed(world: World) -> None:  # TG-16
    world.executor.give("e1")
    assert "1 execution told to pause; 1 robot set" in await world.works("pause", "--team")
    (robots,) = json.loads(await world.works("robots", "--json"))
    assert robots["robot_status"] == "paused"
    assert "1 robot set" in await world.works("resume", "--team")


async def test_a_replay_that_differs_ends_with_1(world: World) -> None:
    world.executor.give("e1", status=ExecStatus.COMPLETED)
    assert (await world.works("replay", "e1")).endswith("and the execution that they lead to\n")
    decided = Decision(at=AT, step="goals", outcome="asked", replayed="failed")
    world.executor.replayed = ReplayReply(difference="goals: failed", decisions=[decided])
    done = await world.run("replay", "e1")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "not the same: goals: failed")


async def test_a_run_is_shown_with_and_without_its_deliverys_attempts(world: World) -> None:  # DC-14
    world.executor.give("e1")
    (shown,) = [json.loads(await world.works("executions", "show", "e1", "--json"))]
    assert (shown["status"], shown["delivery_attempts"]) == ("running", None)
    result = ChannelResult(type=DeliveryType.EMAIL, target="a@example.com", success=True, delivery_id="d1")
    target = TargetDetail(result=result, attempts=[AttemptDetail(at=AT, ok=True, latency_ms=12)])
    async with DeliveryCenter(DeliveryReply(request_id="d", targets=[target])).running(world.nats.url):
        told = await world.works("executions", "show", "e1")
        assert "✓ email a@example.com, attempts 1" in told
        assert "2026-03-02 09:00:00  reached after 12 ms" in told
