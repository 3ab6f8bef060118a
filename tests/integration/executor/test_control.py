"""Pausing, resuming and stopping runs over the bus, and what may still leave of them (TG-16, F11, DEC-16)."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from rota_common.testing.bus import Listener, stored
from rota_common.testing.openai_server import OpenAIServer, openai_server
from rota_common.testing.patience import PATIENCE_S
from rota_common.testing.samples import a_robot
from rota_contracts import catalog
from rota_contracts.messages.delivery import Permission
from rota_contracts.messages.execution import ExecStatus, Execution
from rota_contracts.robots.robot import Phase
from tests.integration.executor.fixtures import ANSWERS, Script
from tests.integration.executor.harness import Harness, kinds, scripted

SCORING = "run: Score it"
AGENTS = {"resources": {"agents": ["experts.scorer", "experts.writer"]}}


@pytest.fixture
async def model() -> AsyncIterator[OpenAIServer]:
    async with openai_server(Script()) as server:
        yield server


@pytest.fixture
def settings(tmp_path: Path, model: OpenAIServer) -> dict[str, Any]:
    return scripted(tmp_path / "connectors", model.url)


def is_paused(execution: Execution) -> bool:
    return execution.status is ExecStatus.PAUSED


async def asked_for(system: Harness, model: OpenAIServer, what: str) -> Script:
    """A run whose model has been asked for this, and takes its time."""
    script = Script(what)
    model.script = script
    await system.request()
    await asyncio.wait_for(script.reached.wait(), PATIENCE_S)
    return script


async def test_a_pause_in_a_model_call_holds_after_it_and_a_resume_repeats_nothing(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:  # TG-16 DEC-16
    async with system.executor(**settings):
        script = await asked_for(system, model, SCORING)
        assert (await system.control("pause")).execution_ids == ["e1"]
        script.go.set()
        held = await system.until(is_paused)
        assert [result.output and result.output.inline for result in held.results] == ["87 of 100"]
        (parked,) = await system.parked()
        assert (parked.data.parks, parked.data.status) == (1, ExecStatus.PAUSED)
        assert (await system.control("resume")).execution_ids == ["e1"]
        done = await system.over()
    assert done.status is ExecStatus.COMPLETED
    assert kinds(model) == dict.fromkeys(ANSWERS, 1)
    assert [trace.action for trace in done.interventions] == ["pause", "resume"]
    (again,) = await stored(system.nats_url, catalog.EXECUTION_RESUMABLE)
    assert again.data.parks == 1
    started = await stored(system.nats_url, catalog.EXECUTION_STARTED)
    assert [fact.data.grant for fact in started] == [0, 1]


@pytest.mark.parametrize("what", ["goals", "tasks", SCORING, "delivery"])
async def test_a_stop_in_a_model_call_ends_it_at_once(
    system: Harness, model: OpenAIServer, settings: dict[str, Any], what: str
) -> None:  # TG-16 EX-42 F11
    async with system.executor(**settings):
        await asked_for(system, model, what)
        await system.control("stop", reason="wrong customer")
        done = await asyncio.wait_for(system.over(), 5)  # while the model still holds its answer back
    assert (done.status, done.error) == (ExecStatus.CANCELLED, "wrong customer")
    assert await stored(system.nats_url, catalog.DELIVERY_REQUESTED) == []
    assert list(kinds(model)) == list(ANSWERS)[: list(ANSWERS).index(what) + 1]


async def test_a_stop_reaches_the_replica_that_holds_the_run(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:  # F11
    async with system.executor(**settings), system.executor(**settings), system.executor(**settings):
        await asked_for(system, model, SCORING)
        published = await Listener.to(system.nats_url, catalog.CONTROL_GIVEN.pattern)
        answers = [await system.control("stop", request_id=f"stop-{number}") for number in range(3)]
        done = await asyncio.wait_for(system.over(), 5)
        await published.received()
        await published.close()
    assert done.status is ExecStatus.CANCELLED
    assert answers[0].execution_ids == ["e1"]


async def test_a_robot_and_a_team_are_stopped_with_all_their_runs(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:  # TG-16 F11
    await system.keep(a_robot(member_id="bob", config=AGENTS))
    script = Script()
    script.holds = {"goals"}
    model.script = script
    system.silent = {"validator"}
    async with system.executor(**settings):
        await system.request("anns")
        async with asyncio.timeout(PATIENCE_S):
            await script.reached.wait()
            await system.request("bobs", member_id="bob")
            await system.ignored.get()
        assert (await system.control("stop", None, member_id="bob")).execution_ids == ["bobs"]
        await system.until(lambda execution: execution.status.over, "bobs")
        assert (await system.control("stop", None, request_id="all")).execution_ids == ["anns"]
        done = await system.finished(2)
    assert {fact.execution_id: fact.status for fact in done} == {"bobs": "cancelled", "anns": "cancelled"}


async def test_a_run_that_is_over_or_unknown_is_answered_so(system: Harness) -> None:  # TG-16 TG-23
    async with system.executor():
        await system.request()
        await system.over()
        late, unknown = await system.control("stop"), await system.control("stop", "unknown")
        theirs = await system.control("stop", team_id="initech")
    assert (late.execution_ids, late.over, late.unknown) == ([], "completed", False)
    assert (unknown.unknown, theirs.unknown, theirs.over) == (True, True, None)


async def test_a_run_that_works_for_too_long_ends_with_the_reason_though_its_model_never_answers(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:  # DEC-34
    await system.keep(a_robot(config=AGENTS | {"executor": {"max_duration": "1s"}}, rev=2))
    async with system.executor(**settings):
        await asked_for(system, model, SCORING)
        done = await asyncio.wait_for(system.over(), 10)
    assert (done.status, done.phase) == (ExecStatus.FAILED, Phase.LEARNING)
    assert done.error == "deadline: it worked longer than its max_duration 1s"
    assert [result.status for result in done.results] == ["failed"]
    assert len(await stored(system.nats_url, catalog.LEARNING_REQUESTED)) == 1
    assert await stored(system.nats_url, catalog.DELIVERY_REQUESTED) == []


async def test_a_deleted_robots_run_ends_in_the_middle_of_its_model_call(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:  # TG-20
    async with system.executor(**settings), system.executor(**settings):
        await asked_for(system, model, SCORING)
        await system.delete()
        done = await asyncio.wait_for(system.over(), 10)
    assert (done.status, done.error) == (ExecStatus.CANCELLED, "the robot was deleted")


async def test_the_permission_to_deliver_follows_the_run(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:  # F11 F13
    system.silent = {"delivery-center"}
    async with system.executor(**settings):
        await system.request()
        await system.ignored.get()
        assert (await system.may_deliver()).leave is Permission.ALLOW
        assert (await system.may_deliver(team="initech")).leave is Permission.DENY
        assert (await system.may_deliver("unknown")).reason == "there is no execution unknown"
        await system.control("pause")
        held = await system.may_deliver()
        assert (held.leave, held.reason) == (Permission.HOLD, "the execution is paused")
        await system.control("resume")
        assert (await system.may_deliver()).leave is Permission.ALLOW
        await system.control("stop", reason="wrong customer")
        stopped = await system.may_deliver()
        assert (stopped.leave, stopped.reason) == (Permission.DENY, "wrong customer")
        await system.over()
        assert (await system.may_deliver()).leave is Permission.DENY


async def test_of_a_run_that_is_complete_everything_may_leave(system: Harness) -> None:  # F11
    async with system.executor():
        await system.request()
        await system.over()
        assert (await system.may_deliver()).leave is Permission.ALLOW


async def test_a_run_replays_over_the_bus_and_only_for_its_team(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:  # F24
    async with system.executor(**settings):
        await system.request()
        before = await system.over()
        answer = await system.replay()
        assert not (await system.replay(team="initech")).found
        assert await system.execution() == before
    assert (answer.same, answer.difference) == (True, "")
    assert [decision.outcome for decision in answer.decisions][-1] == "finished"
    assert kinds(model) == dict.fromkeys(ANSWERS, 1)  # no model is asked again
