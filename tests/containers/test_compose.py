"""The whole path in containers, as an operator starts them: `make compose-test`.

In this order on one Rota: it starts, works, is killed part by part, restarted part by part, taken down and up again.
"""

import pytest

from rota_contracts.catalog import SERVICES
from tests.containers.harness import MAIL_TO, RUNS, World, aside
from tests.containers.outside import Sender
from tests.containers.project import LONG_RUNNING, Project
from tests.figures import Figures, note_memory

pytestmark = pytest.mark.asyncio(loop_scope="session")

HEALTHY_WITHIN_S = 120
"""Room for a machine that has much else to do; what it took is among the figures."""


async def test_every_service_is_healthy_after_up(project: Project, figures: Figures) -> None:
    healths = await aside(project.healths)
    assert {*LONG_RUNNING, "mailpit"} == healths.keys()
    assert set(healths.values()) == {"healthy"}, healths
    assert float(str(figures.all["all healthy after up, s"])) < HEALTHY_WITHIN_S


async def test_an_event_leads_to_a_signed_webhook_a_mail_and_a_fact_for_the_teams_program(world: World) -> None:
    sender = world.sender()
    await sender.post(1)
    (execution,) = sender.executions.values()
    await world.receiver.all_of([execution])
    assert world.receiver.forged == 0
    assert world.receiver.requests[execution] in await world.read_feed()
    assert MAIL_TO in await world.mails()


async def test_a_kill_of_each_container_loses_nothing(world: World, figures: Figures) -> None:
    """What a receiver gets twice has the same `webhook-id`."""
    sender, healthy = world.sender(), {}
    async with sender.posting():
        for name in LONG_RUNNING:
            await world.receiver.more(RUNS)
            await aside(world.project.kill, name)
            healthy[name] = await aside(world.project.start, name)
        await world.receiver.more(RUNS)
    await _all_arrived(world, sender, figures, during="kills")
    figures.note("healthy after a kill, s", healthy)
    repeated = world.receiver.repeated(sender.executions.values())
    figures.note("repeated under one webhook-id during kills", len(repeated))


async def test_a_rolling_restart_loses_and_repeats_nothing(world: World, figures: Figures) -> None:
    sender, took = world.sender(), {}
    async with sender.posting():
        for name in SERVICES:
            await world.receiver.more(RUNS)
            took[name] = await aside(world.project.restart, name)
        await world.receiver.more(RUNS)
    await _all_arrived(world, sender, figures, during="a rolling restart")
    figures.note("healthy after a restart, s", took)
    assert world.receiver.repeated(sender.executions.values()) == {}


async def test_down_and_up_keep_all_data(world: World, figures: Figures) -> None:
    note_memory(figures, f"after {len(world.receiver.ids)} runs", await aside(world.project.memory))
    before, seen = await world.api.executions({"page_size": 1}), await world.read_feed()
    await aside(world.project.down)
    figures.note("all healthy after down and up, s", await aside(world.project.up))
    after = await world.api.executions({"page_size": 1})
    assert after["total"] == before["total"] == len(world.receiver.ids)
    sender = world.sender()
    await sender.post(len(sender.types))
    await world.receiver.all_of(sender.executions.values())
    assert len(await world.read_feed()) == len(seen) + len(sender.executions), "the program goes on where it was"


async def _all_arrived(world: World, sender: Sender, figures: Figures, *, during: str) -> None:
    """Every accepted event has its result at the receiver and, once, in the feed."""
    await world.receiver.all_of(sender.executions.values())
    figures.note(f"accepted during {during}", len(sender.executions))
    figures.note(f"client errors during {during}, all retried", len(sender.errors))
    assert world.receiver.forged == 0
    assert world.receiver.doubled(sender.executions.values()) == {}
    read = await world.read_feed()
    assert sorted(set(read)) == sorted(read), "a fact is in the feed twice"
    missing = {world.receiver.requests[each] for each in sender.executions.values()} - set(read)
    assert not missing, "results that the team's program never gets"
