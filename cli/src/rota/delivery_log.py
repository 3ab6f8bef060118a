"""The delivery log over the gateway's API: reading it, replaying and retrying deliveries, a range page by page."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from urllib.parse import quote

from rota.api_error import ApiError
from rota.client import Api, Json
from rota.errors import CliError

PAGE_SIZE = 100
NEWEST = 200
AT_ONCE = 8
TIMEOUT_S = 30.0


async def list_deliveries(api: Api, params: Mapping[str, str | int]) -> Json:
    """One page: `{deliveries, next}`."""
    return await api.of_team("GET", "/deliveries", params=dict(params))


async def newest_of_robots(api: Api, members: Sequence[str]) -> dict[str, Json]:
    """The newest delivery of each of these robots that has one; none while the delivery-center doesn't answer.

    Most are among the team's newest, which are one request; the others are asked for one by one.
    """
    try:
        page = await list_deliveries(api, {"limit": NEWEST})
        found = {each["member_id"]: each for each in reversed(page["deliveries"])}
        rest = [member for member in members if member not in found] if page.get("next") else []
        turns = asyncio.Semaphore(AT_ONCE)

        async def newest(member: str) -> list[Json]:
            async with turns:
                return list((await list_deliveries(api, {"member_id": member, "limit": 1}))["deliveries"])

        for last in await asyncio.gather(*map(newest, rest)):
            found |= {each["member_id"]: each for each in last}
    except ApiError:
        return {}
    return found


async def read_delivery(api: Api, request_id: str) -> Json:
    return await api.of_team("GET", f"/deliveries/{quote(request_id, safe='')}")


async def replay_delivery(api: Api, request_id: str, how: Json) -> Json:
    """`how` is `{targets, replay_id, dry_run}`."""
    path = f"/deliveries/{quote(request_id, safe='')}/replay"
    return await api.of_team("POST", path, json=how, timeout=TIMEOUT_S)


async def replay_deliveries(api: Api, which: Mapping[str, str], how: Json) -> AsyncIterator[tuple[list[Json], bool]]:
    """Each page of replayed deliveries, and whether there is another. An error names the --replay-id."""
    wanted: Json = {**which, **how, "limit": PAGE_SIZE}
    after, count = "", 0
    while True:
        try:
            page = await api.of_team("POST", "/deliveries/replay", json=wanted | {"after": after}, timeout=TIMEOUT_S)
        except CliError as error:
            if count and not how["dry_run"]:
                error.details.append(f"replayed before the error: {count}")
                error.hint = f"continue with --replay-id {how['replay_id']}: nothing is sent twice"
            raise
        sent, after = page["replayed"], page["next"]
        count += len(sent)
        yield sent, bool(after)
        if not after:
            return


async def retry_delivery(api: Api, request_id: str) -> Json:
    return await api.of_team("POST", f"/deliveries/{quote(request_id, safe='')}/retry", timeout=TIMEOUT_S)


async def retry_deliveries(api: Api, which: Mapping[str, str]) -> list[Json]:
    """The deliveries of all pages."""
    retried: list[Json] = []
    wanted: Json = {**which, "limit": PAGE_SIZE, "after": ""}
    while True:
        page = await api.of_team("POST", "/deliveries/retry", json=wanted, timeout=TIMEOUT_S)
        retried += page["retried"]
        if not page["next"]:
            return retried
        wanted["after"] = page["next"]
