"""Shares: a team that has used its own gets a clear refusal, and the others notice nothing."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx

from .asgi import following
from .harness import TEAM, Gateway, error_of, gateway, robot, settings

KIB = 1024


async def two_teams(small: Gateway) -> tuple[str, str]:
    small.key = await small.make_team()
    return small.key, await small.make_team("other")


async def refused(answer: httpx.Response, *words: str) -> None:
    assert error_of(answer) == (409, "share_used"), answer.text
    text = answer.json()["error"]["message"]
    assert all(word in text for word in words), text


async def test_robots_are_counted_by_number_and_by_bytes() -> None:
    async with gateway(settings(robots_per_team=3, robot_bytes_per_team=24 * KIB)) as small:
        _, other = await two_teams(small)
        answers = await asyncio.gather(
            *(small.call("POST", f"{TEAM}/robots", json=robot(f"r{number}")) for number in range(6))
        )
        assert sorted(answer.status_code for answer in answers) == [201] * 3 + [409] * 3
        beyond = next(answer for answer in answers if answer.status_code == 409)
        await refused(beyond, "3 of 3 robots", "ROTA_ROBOTS_PER_TEAM")
        theirs = await small.call("POST", "/v1/teams/other/robots", json=robot("r0"), key=other)
        assert theirs.status_code == 201
        made = [answer.json()["member_id"] for answer in answers if answer.status_code == 201]
        large = {"identity": {"role": "Greeter", "duties": ["x" * 40 * KIB]}}
        grown = await small.call("PATCH", f"{TEAM}/robots/{made[0]}", json={"robot_config": large})
        await refused(grown, f"at most {24 * KIB}", "ROTA_ROBOT_BYTES_PER_TEAM")
        assert (await small.call("GET", f"{TEAM}/robots/{made[0]}")).json()["rev"] == 1
        assert (await small.call("PATCH", f"{TEAM}/robots/{made[0]}", json={"robot_status": "idle"})).status_code == 200
        assert (await small.call("DELETE", f"{TEAM}/robots/{made[0]}")).status_code == 204
        assert (await small.call("POST", f"{TEAM}/robots", json=robot("again"))).status_code == 201


async def test_a_deleted_robot_keeps_no_definition() -> None:
    """Its record stays for ever, so that its revision grows: it must not fill the bucket."""
    async with gateway() as made:
        made.key = await made.make_team()
        await made.make_robot(identity={"role": "x" * 100 * KIB})
        await made.call("DELETE", f"{TEAM}/robots/leader")
        stored = made.published()
        assert stored is not None
        assert (stored.deleted, stored.rev) == (True, 2)
        assert len(stored.model_dump_json()) < 4 * KIB
        assert (await made.make_robot())["rev"] == 3


async def test_sources_and_databases_are_counted() -> None:
    async with gateway(settings(sources_per_team=2, databases_per_team=1)) as small:
        _, other = await two_teams(small)

        async def add(name: str, *, key: str = "", team: str = TEAM, **more: Any) -> httpx.Response:
            body = {"name": name, "secret": "$ENV.LEADS_SECRET"} | more
            return await small.call("POST", f"{team}/sources", json=body, key=key or None)

        crm = {"type": "database", "url": "$ENV.CRM_URL", "database": "crm", "collection": "leads", "secret": None}
        crm.pop("secret")
        assert [(await add(name)).status_code for name in ("a", "b")] == [201, 201]
        await refused(await add("c"), "2 of 2 sources", "ROTA_SOURCES_PER_TEAM")
        first, second = [
            await small.call("POST", f"{TEAM}/sources", json={"name": name} | crm) for name in ("crm", "erp")
        ]
        assert first.status_code == 201, first.text
        await refused(second, "1 of 1 databases", "ROTA_DATABASES_PER_TEAM")
        assert (await add("a", key=other, team="/v1/teams/other")).status_code == 201


async def put(to: Gateway, content: Any, *, team: str = TEAM, key: str | None = None) -> httpx.Response:
    return await to.call("POST", f"{team}/attachments", params={"name": "a.bin"}, content=content, key=key)


async def test_files_are_counted_until_they_are_deleted() -> None:
    given = settings(attachment_limit=8 * KIB, attachment_bytes_per_team=10 * KIB, attachments_per_team=3)
    async with gateway(given) as small:
        _, other = await two_teams(small)
        first = await put(small, bytes(8 * KIB))
        assert first.status_code == 201
        await refused(await put(small, bytes(3 * KIB)), f"at most {10 * KIB}", "ROTA_ATTACHMENT_BYTES_PER_TEAM")
        assert (await put(small, bytes(8 * KIB), team="/v1/teams/other", key=other)).status_code == 201
        path = f"{TEAM}/attachments/{first.json()['file_id']}"
        assert error_of(await small.call("DELETE", path, key=other)) == (403, "foreign_team")
        assert error_of(await small.call("DELETE", path, key=await small.make_key("viewer"))) == (403, "role_too_low")
        assert (await small.call("DELETE", path)).status_code == 204
        for method in ("GET", "DELETE"):
            assert error_of(await small.call(method, path)) == (404, "attachment_not_found")
        answers = await asyncio.gather(*(put(small, b"a") for _ in range(5)))
        assert sorted(answer.status_code for answer in answers) == [201] * 3 + [409] * 2


async def test_an_upload_that_fails_gives_its_share_back() -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield bytes(KIB)
        raise ConnectionError("gone")

    async def short() -> AsyncIterator[bytes]:
        yield bytes(KIB)

    given = settings(attachment_limit=8 * KIB, attachment_bytes_per_team=10 * KIB)
    async with gateway(given) as small:
        small.key = await small.make_team()
        for _ in range(3):
            assert (await put(small, bytes(9 * KIB))).status_code == 413
            try:
                await put(small, broken())
            except ConnectionError:
                continue
        assert (await put(small, short())).status_code == 201  # without a length: room for the largest is needed
        assert (await put(small, short())).status_code == 201
        assert (await put(small, bytes(8 * KIB))).status_code == 201  # what they really took is counted
        await refused(await put(small, short()))


async def test_streams_are_counted_while_they_are_open() -> None:
    async with gateway(settings(streams_per_team=2)) as small:
        _, other = await two_teams(small)
        async with following(small), following(small):
            answer = await small.call("GET", f"{TEAM}/stream")
            assert error_of(answer) == (429, "share_used")
            assert answer.headers["retry-after"] == "15"
            assert "2 live streams" in answer.text
            small.key, mine = other, small.key
            async with following(small, team="other"):
                pass
            small.key = mine
        async with following(small):
            pass


async def test_a_stream_ends_when_its_key_is_deleted() -> None:
    async with gateway(settings(heartbeat=0.05)) as quick:
        quick.key = owner = await quick.make_team()
        quick.key = await quick.make_key("viewer")
        async with following(quick) as live:
            key_id = quick.key.split("_")[1]
            assert (await quick.call("DELETE", f"{TEAM}/keys/{key_id}", key=owner)).status_code == 204
            await live.end()


async def test_requests_of_a_team_are_counted_together() -> None:
    async with gateway(settings(rate_per_team=20)) as small:
        mine, other = await two_teams(small)
        keys = [mine, await small.make_key("viewer")]
        answers = [await small.call("GET", f"{TEAM}/robots", key=keys[number % 2]) for number in range(30)]
        assert [answer.status_code for answer in answers].count(200) == 19  # and the key was made
        assert error_of(answers[-1]) == (429, "rate_limited")
        assert int(answers[-1].headers["retry-after"]) > 0
        assert (await small.call("GET", "/v1/teams/other/robots", key=other)).status_code == 200


async def test_unknown_keys_are_counted_by_address_and_known_ones_go_on() -> None:
    async with gateway(settings(failed_keys_per_address=5)) as small:
        small.key = await small.make_team()
        assert (await small.call("GET", f"{TEAM}/robots")).status_code == 200
        tried = [await small.call("GET", f"{TEAM}/robots", key=f"rota_{number}_guess") for number in range(8)]
        assert [answer.status_code for answer in tried] == [401] * 5 + [429] * 3
        assert (await small.call("GET", f"{TEAM}/robots")).status_code == 200
        admins = await small.call("POST", "/v1/teams", json={}, key="guess")
        assert error_of(admins) == (429, "rate_limited")
