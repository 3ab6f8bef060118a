"""Commands that change runs and plans, against a real gateway with stand-ins for scheduler and executor."""

import json

import pytest

from rota_contracts.messages.delivery import AttemptDetail, ChannelResult, DeliveryReply, DeliveryType, TargetDetail
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.replay import Decision, ReplayReply
from rota_contracts.messages.run_history import PendingQuestion
from tests.integration.cli.harness import System, entered
from tests.integration.gateway.stand_ins import AT, DeliveryCenter

pytestmark = pytest.mark.integration


def test_a_run_is_instructed_and_stopped(system: System) -> None:  # TG-06, TG-16
    system.executor.give("e1")
    printed = system.rota.works("intervene", "leader", "--action", "goal.add", "-m", "Ask for Friday")
    assert printed == "execution e1: accepted; the execution applies it at its next step\n"
    assert system.executor.words[0].messages[0].text() == "Ask for Friday"
    stopped = system.rota.works("stop", "e1", "--reason", "wrong prices")
    assert stopped == "e1: stop\nstopping 1 execution\n"
    assert system.executor.controls[0].reason == "wrong prices"


def test_one_of_several_runs_must_be_named(system: System) -> None:  # DEC-35
    system.executor.give("e1", "e2")
    refused = system.rota.run("intervene", "leader", "--action", "instruct", "-m", "Hurry")
    assert refused.returncode == 1
    assert "execution_id: expected one of e1, e2" in refused.stderr
    system.rota.works("intervene", "leader", "--action", "instruct", "-m", "Hurry", "--execution", "e2")
    assert system.executor.words[0].execution_id == "e2"


def test_a_waiting_run_is_answered(system: System) -> None:
    system.executor.give("e1", status=ExecStatus.WAITING)
    asked = PendingQuestion(question="Which offer?", asked_at=AT)
    system.executor.has = [run.model_copy(update={"question": asked}) for run in system.executor.has]
    assert "asks      Which offer?" in system.rota.works("executions", "show", "e1")
    system.rota.works("answer", "e1", "The second")
    word = system.executor.words[0]
    assert (word.action, word.execution_id, word.messages[0].text()) == ("instruct", "e1", "The second")


def test_a_planned_item_is_added_listed_updated_and_removed(system: System) -> None:  # TG-09
    made = system.rota.works("plan", "add", "leader", "-m", "Review", "--at", "2030-01-01T09:00:00+01:00", "--json")
    plan_id = json.loads(made)["plan_id"]
    assert plan_id in system.rota.works("plan", "--member", "leader")
    system.rota.works("plan", "update", "leader", plan_id, "--at", "2031-01-01T09:00:00+01:00")
    assert "2031-01-01" in system.rota.works("plan")
    system.rota.works("plan", "remove", "leader", plan_id)
    assert "removed" in system.rota.works("plan")


def test_the_team_is_paused_and_resumed(system: System) -> None:  # TG-16
    system.executor.give("e1")
    assert "pausing 1 execution; 1 robot set" in system.rota.works("pause", "--team")
    (robots,) = json.loads(system.rota.works("robots", "--json"))
    assert robots["robot_status"] == "paused"
    assert "1 robot set" in system.rota.works("resume", "--team")


def test_a_replay_that_differs_ends_with_1(system: System) -> None:
    system.executor.give("e1", status=ExecStatus.COMPLETED)
    assert system.rota.works("replay", "e1").endswith("and the resulting execution\n")
    decided = Decision(at=AT, step="goals", outcome="asked", replayed="failed")
    system.executor.replayed = ReplayReply(difference="goals: failed", decisions=[decided])
    done = system.rota.run("replay", "e1")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "not the same: goals: failed")


def test_a_run_is_shown_with_and_without_delivery_attempts(system: System) -> None:  # DC-14
    system.executor.give("e1")
    (shown,) = [json.loads(system.rota.works("executions", "show", "e1", "--json"))]
    assert (shown["status"], shown["delivery_attempts"]) == ("running", None)
    result = ChannelResult(type=DeliveryType.EMAIL, target="a@example.com", success=True, delivery_id="d1")
    target = TargetDetail(result=result, attempts=[AttemptDetail(at=AT, ok=True, latency_ms=12)])
    with entered(
        system.beside, DeliveryCenter(DeliveryReply(request_id="d", targets=[target])).running(system.nats_url)
    ):
        printed = system.rota.works("executions", "show", "e1")
        assert "✓ email a@example.com, attempts 1" in printed
        assert "2026-03-02 09:00:00  delivered after 12 ms" in printed
