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
from tests.integration.executor.scripts import ANSWERS, Script
from tests.integration.executor.world import World, kinds, scripted

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


async def asked_for(world: World, model: OpenAIServer, what: str) -> Script:
    """A run whose model has been asked for this, and takes its time."""
    script = Script(what)
    model.script = script
    await world.request()
    await asyncio.wait_for(script.reached.wait(), PATIENCE_S)
    return script


async def test_a_pause_in_a_model_call_holds_after_it_and_a_resume_repeats_nothing(
    world: World, model: OpenAIServer, settings: dict[str, Any]
) -> None:  # TG-16 DEC-16
    async with world.executor(**settings):
        script = await asked_for(world, model, SCORING)
        assert (await world.control("pause")).execution_ids == ["e1"]
        script.go.set()
        held = await world.until(is_paused)
        assert [result.output and result.output.inline for result in held.results] == ["87 of 100"]
        (parked,) = await stored(world.nats_url, catalog.EXECUTION_PARKED)
        assert (parked.data.parks, parked.data.status) == (1, ExecStatus.PAUSED)
        assert (await world.control("resume")).execution_ids == ["e1"]
        done = await world.over()
    assert done.status is ExecStatus.COMPLETED
    assert kinds(model) == dict.fromkeys(ANSWERS, 1)
    assert [trace.action for trace in done.interventions] == ["pause", "resume"]
    (again,) = await stored(world.nats_url, catalog.EXECUTION_RESUMABLE)
    assert again.data.parks == 1
    started = await stored(world.nats_url, catalog.EXECUTION_STARTED)
    assert [fact.data.grant for fact in started] == [0, 1]


@pytest.mark.parametrize("what", ["goals", "tasks", SCORING, "delivery"])
async def test_a_stop_in_a_model_call_ends_it_at_once(
    world: World, model: OpenAIServer, settings: dict[str, Any], what: str
) -> None:  # TG-16 EX-42 F11
    async with world.executor(**settings):
        await asked_for(world, model, what)
        await world.control("stop", reason="wrong customer")
        done = await asyncio.wait_for(world.over(), 5)  # while the model still holds its answer back
    assert (done.status, done.error) == (ExecStatus.CANCELLED, "wrong customer")
    assert await stored(world.nats_url, catalog.DELIVERY_REQUESTED) == []
    assert list(kinds(model)) == list(ANSWERS)[: list(ANSWERS).index(what) + 1]


async def test_a_stop_reaches_the_replica_that_has_the_run_in_hand(
    world: World, model: OpenAIServer, settings: dict[str, Any]
) -> None:  # F11
    async with world.executor(**settings), world.executor(**settings), world.executor(**settings):
        await asked_for(world, model, SCORING)
        heard = await Listener.to(world.nats_url, catalog.CONTROL_GIVEN.pattern)
        answers = [await world.control("stop", request_id=f"stop-{number}") for number in range(3)]
        done = await asyncio.wait_for(world.over(), 5)
        await heard.heard()
        await heard.close()
    assert done.status is ExecStatus.CANCELLED
    assert answers[0].execution_ids == ["e1"]


async def test_a_robot_and_a_team_are_stopped_with_all_their_runs(
    world: World, model: OpenAIServer, settings: dict[str, Any]
) -> None:  # TG-16 F11
    await world.keep(a_robot(member_id="bob", config=AGENTS))
    script = Script()
    script.holds = {"goals"}
    model.script = script
    world.silent = {"validator"}
    async with world.executor(**settings):
        await world.request("anns")
        await script.reached.wait()
        await world.request("bobs", member_id="bob")
        await world.ignored.get()
        assert (await world.control("stop", None, member_id="bob")).execution_ids == ["bobs"]
        await world.until(lambda execution: execution.status.over, "bobs")
        assert (await world.control("stop", None, request_id="all")).execution_ids == ["anns"]
        done = await world.finished(2)
    assert {fact.execution_id: fact.status for fact in done} == {"bobs": "cancelled", "anns": "cancelled"}


async def test_a_run_that_is_over_or_unknown_is_answered_so(world: World) -> None:  # TG-16 TG-23
    async with world.executor():
        await world.request()
        await world.over()
        late, nobody = await world.control("stop"), await world.control("stop", "nobody")
        theirs = await world.control("stop", team_id="initech")
    assert (late.execution_ids, late.over, late.unknown) == ([], "completed", False)
    assert (nobody.unknown, theirs.unknown, theirs.over) == (True, True, None)


async def test_a_run_that_works_for_too_long_ends_with_the_reason_though_its_model_never_answers(
    world: World, model: OpenAIServer, settings: dict[str, Any]
) -> None:  # DEC-34
    await world.keep(a_robot(config=AGENTS | {"executor": {"max_duration": "1s"}}, rev=2))
    async with world.executor(**settings):
        await asked_for(world, model, SCORING)
        done = await asyncio.wait_for(world.over(), 10)
    assert (done.status, done.phase) == (ExecStatus.FAILED, Phase.LEARNING)
    assert done.error == "deadline: it worked longer than its max_duration 1s"
    assert [result.status for result in done.results] == ["failed"]
    assert len(await stored(world.nats_url, catalog.LEARNING_REQUESTED)) == 1
    assert await stored(world.nats_url, catalog.DELIVERY_REQUESTED) == []


async def test_a_deleted_robots_run_ends_in_the_middle_of_its_model_call(
    world: World, model: OpenAIServer, settings: dict[str, Any]
) -> None:  # TG-20
    async with world.executor(**settings), world.executor(**settings):
        await asked_for(world, model, SCORING)
        await world.delete()
        done = await asyncio.wait_for(world.over(), 10)
    assert (done.status, done.error) == (ExecStatus.CANCELLED, "the robot was deleted")


async def test_what_may_still_leave_of_a_run_is_told_to_whoever_sends_it(
    world: World, model: OpenAIServer, settings: dict[str, Any]
) -> None:  # F11 F13
    world.silent = {"delivery-center"}
    async with world.executor(**settings):
        await world.request()
        await world.ignored.get()
        assert (await world.may_deliver()).leave is Permission.ALLOW
        assert (await world.may_deliver(team="initech")).leave is Permission.DENY
        assert (await world.may_deliver("nobody")).reason == "there is no execution nobody"
        await world.control("pause")
        held = await world.may_deliver()
        assert (held.leave, held.reason) == (Permission.HOLD, "the execution is paused")
        await world.control("resume")
        assert (await world.may_deliver()).leave is Permission.ALLOW
        await world.control("stop", reason="wrong customer")
        stopped = await world.may_deliver()
        assert (stopped.leave, stopped.reason) == (Permission.DENY, "wrong customer")
        await world.over()
        assert (await world.may_deliver()).leave is Permission.DENY


async def test_of_a_run_that_is_complete_everything_may_leave(world: World) -> None:  # F11
    async with world.executor():
        await world.request()
        await world.over()
        assert (await world.may_deliver()).leave is Permission.ALLOW


async def test_a_run_replays_over_the_bus_and_only_for_its_team(
    world: World, model: OpenAIServer, settings: dict[str, Any]
) -> None:  # F24
    async with world.executor(**settings):
        await world.request()
        before = await world.over()
        answer = await world.replay()
        assert not (await world.replay(team="initech")).found
        assert await world.execution() == before
    assert (answer.same, answer.difference) == (True, "")
    assert [decision.outcome for decision in answer.decisions][-1] == "finished"
    assert kinds(model) == dict.fromkeys(ANSWERS, 1)  # no model is asked again
