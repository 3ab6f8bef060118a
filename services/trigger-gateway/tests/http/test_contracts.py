"""The contracts as the gateway publishes them: for programs outside, without a key."""

import re

from jsonschema import Draft202012Validator

from rota_contracts.catalog import FEED
from rota_contracts.streams import DAY
from rota_contracts.tooling.asyncapi import asyncapi
from rota_contracts.tooling.schemas import schemas

from .harness import Gateway, error_of

PATHS = [
    "/asyncapi",
    "/asyncapi/feed",
    "/schemas",
    "/schemas/delivery.completed.v1.json",
    "/schemas/rpc/memory.recall.answer.json",
]


async def test_the_index_links_the_contracts(empty: Gateway) -> None:
    links = (await empty.http.get("/")).json()["links"]
    for name in ("asyncapi", "schemas"):
        assert (await empty.http.get(links[name])).status_code == 200


async def test_the_pages_of_the_api_load_nothing_from_elsewhere(empty: Gateway) -> None:
    for page in ("/docs", "/redoc"):
        loaded = re.findall(r'(?:src|href)="([^"]+)"', (await empty.http.get(page)).text)
        assert len(loaded) > 1
        assert [path for path in loaded if not path.startswith("/")] == []
        assert [path for path in loaded if (await empty.http.get(path)).status_code != 200] == []


async def test_the_asyncapi_document_states_the_retention_of_the_feed(empty: Gateway) -> None:  # F8
    answer = await empty.http.get("/asyncapi")
    assert answer.headers["content-type"] == "application/vnd.aai.asyncapi+json"
    document = answer.json()
    assert document == asyncapi(document["info"]["version"])
    feed = document["channels"]["delivery.completed"]
    kept = {"stream": FEED, "max_age_seconds": 14 * DAY, "when_full": "drop oldest"}
    assert feed["x-retention"].items() >= kept.items()
    assert "Kept in the stream DELIVERIES for 14 days." in feed["description"]


async def test_every_schema_is_listed_and_can_be_read(empty: Gateway) -> None:
    made = schemas()
    listed = (await empty.http.get("/schemas")).json()["schemas"]
    assert {each["name"] for each in listed} == set(made)
    for each in listed:
        read = await empty.http.get(each["url"])
        assert read.headers["content-type"] == "application/schema+json"
        assert read.json() == made[each["name"]]
    Draft202012Validator.check_schema(read.json())


async def test_a_known_etag_gets_no_body(empty: Gateway) -> None:
    for path in PATHS:
        first = await empty.http.get(path)
        tag = first.headers["etag"]
        assert first.headers["cache-control"] == "public, max-age=300"
        for known in (tag, f'"other", W/{tag}', "*"):
            answer = await empty.http.get(path, headers={"if-none-match": known})
            assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", tag), path
        again = await empty.http.get(path, headers={"if-none-match": '"other"'})
        assert again.content == first.content


async def test_an_unknown_schema_is_not_found(empty: Gateway) -> None:
    for name in ("nothing.json", "../robot.json", "rpc/"):
        assert error_of(await empty.http.get(f"/schemas/{name}"))[0] == 404
