"""The removal of a team through the API, and the rounds of its fact."""

import asyncio
from collections.abc import Callable
from datetime import timedelta

from rota_common.testing.in_memory_stores import InMemoryTeamDocuments
from rota_common.testing.patience import PATIENCE_S
from rota_common.testing.samples import NOON
from rota_contracts.catalog import ROBOT_DELETED, TEAM_REMOVED
from trigger_gateway.team_removal.remove_team import NAME_TAKEN_FOR, ROUNDS_FOR, after_round
from trigger_gateway.teams.ports import RemovedTeam

from .harness import ADMIN, TEAM, Gateway, error_of


def cleared(gateway: Gateway) -> list[str]:
    documents = gateway.adapters.team_documents
    assert isinstance(documents, InMemoryTeamDocuments)
    return documents.removed


async def until(so: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not so():
            await asyncio.sleep(0.01)


async def test_a_removed_team_is_refused_everywhere_and_its_name_is_taken(acme: Gateway) -> None:
    other = await acme.make_team("other")
    assert error_of(await acme.call("DELETE", TEAM)) == (403, "forbidden")  # by its own owner
    removed = await acme.call("DELETE", TEAM, key=ADMIN)
    assert (removed.status_code, removed.json()["team_id"]) == (202, "acme")
    assert error_of(await acme.call("GET", f"{TEAM}/robots")) == (401, "unauthenticated")
    assert error_of(await acme.call("GET", f"{TEAM}/robots", key=ADMIN)) == (404, "team_not_found")
    assert error_of(await acme.post()) == (404, "source_not_found")
    again = await acme.call("POST", "/v1/teams", key=ADMIN, json={"team_id": "acme"})
    assert error_of(again) == (409, "team_removed")
    assert removed.json()["name_free_at"][:10] in again.json()["error"]["message"]
    assert (await acme.call("GET", "/v1/teams", key=ADMIN)).json()["teams"] == [{"team_id": "other", "name": ""}]
    assert (await acme.call("GET", "/v1/teams/other/robots", key=other)).status_code == 200
    assert (await acme.call("DELETE", TEAM, key=ADMIN)).json() == removed.json()
    assert error_of(await acme.call("DELETE", "/v1/teams/unknown", key=ADMIN)) == (404, "team_not_found")
    audit = (await acme.call("GET", "/v1/audit", key=ADMIN)).json()["entries"]
    assert {"remove_team", "create_robot"} <= {entry["action"] for entry in audit if entry["team_id"] == "acme"}


async def test_the_gateway_deletes_the_teams_robots_and_files_and_clears_its_stores(acme: Gateway) -> None:
    file = (await acme.call("POST", f"{TEAM}/attachments?name=a.txt", content=b"some text")).json()["file_id"]
    await acme.call("DELETE", TEAM, key=ADMIN)
    await until(lambda: cleared(acme) == ["acme"])
    assert [event.data.member_id for event in acme.bus.facts(ROBOT_DELETED)] == ["leader"]
    assert acme.published() is None
    assert await acme.adapters.attachments.find("acme", file) is None


async def test_the_fact_comes_again_for_a_month_and_ends_before_the_name_is_free(acme: Gateway) -> None:
    await acme.call("DELETE", TEAM, key=ADMIN)
    await until(lambda: len(acme.bus.facts(TEAM_REMOVED)) == 1)
    assert acme.bus.facts(TEAM_REMOVED)[0].data.round == 1
    team, now = RemovedTeam("acme", NOON, NOON + NAME_TAKEN_FOR, next_at=NOON), NOON
    while (team := after_round(team, now)).next_at is not None:
        assert timedelta(seconds=10) <= team.next_at - now <= timedelta(days=1)
        now = team.next_at
    assert ROUNDS_FOR <= now - NOON <= ROUNDS_FOR + timedelta(days=1)
    assert team.rounds < 60
