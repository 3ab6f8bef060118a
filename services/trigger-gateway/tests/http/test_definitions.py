"""A team's agents, connectors and MCP servers over HTTP: one numbered set for each change, history, canary."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from rota_contracts.catalog import CHECK_DEFINITIONS, COUNT_RUNS, EXECUTOR_REPORTED
from rota_contracts.messages.definition import (
    CheckDefinitions,
    CountRuns,
    DefinitionProblem,
    DefinitionProblems,
    RunCount,
    RunCounts,
)
from rota_contracts.messages.executor_capacity import ExecutorReportedV1
from rota_contracts.model import ALL
from trigger_gateway.adapters.in_memory_definitions import InMemoryDefinitionCopies
from trigger_gateway.definitions.forget_definitions import HISTORY

from .harness import TEAM, Gateway, error_of, fields_of, gateway, settings

AT = f"{TEAM}/definitions"
WRITER = {"kind": "Agent", "id": "experts.writer", "spec": {"prompt": "You write.", "connector": "fast"}}
FAST = {"kind": "Connector", "id": "fast", "spec": {"label": "F", "type": "openai", "options": {"model": "small"}}}
STORE = {"kind": "MCPServer", "id": "store", "spec": {"label": "S", "url": "https://store.example/mcp"}}


def writer(prompt: str) -> dict[str, Any]:
    return WRITER | {"spec": {"prompt": prompt}}


@dataclass
class Team:
    """A gateway whose executor has `problems` with what it is asked about."""

    made: Gateway
    problems: list[DefinitionProblem] = field(default_factory=list)
    checked: list[CheckDefinitions] = field(default_factory=list)

    @property
    def copies(self) -> InMemoryDefinitionCopies:
        copies = self.made.adapters.definition_copies
        assert isinstance(copies, InMemoryDefinitionCopies)
        return copies

    async def check(self, request: CheckDefinitions) -> DefinitionProblems:
        self.checked.append(request)
        return DefinitionProblems(problems=self.problems)

    async def count(self, request: CountRuns) -> RunCounts:
        return RunCounts(counts=[RunCount(rev=rev, runs=rev * 10, completed=rev * 9) for rev in request.revs])

    async def apply(self, *definitions: dict[str, Any], **more: Any) -> dict[str, Any]:
        """The answer's outcomes by name, and the number of the set under `rev`."""
        answer = await self.made.call("POST", AT, json={"definitions": definitions} | more)
        assert answer.status_code == 200, answer.text
        body = answer.json()
        return {f"{each['kind']}/{each['id']}": each["outcome"] for each in body["definitions"]} | {"rev": body["rev"]}

    async def call(self, method: str, path: str = "", **more: Any) -> httpx.Response:
        return await self.made.call(method, AT + path, **more)

    async def prompt(self, rev: str = "") -> str:
        answer = await self.call("GET", f"/Agent/experts.writer{rev}")
        return str(answer.json()["spec"]["prompt"])


@pytest.fixture
async def team() -> AsyncIterator[Team]:
    async with gateway() as made:
        made.key = await made.make_team()
        play = Team(made)
        made.bus.answer(CHECK_DEFINITIONS, play.check)
        made.bus.answer(COUNT_RUNS, play.count)
        yield play


async def test_definitions_that_are_applied_together_are_one_set_and_the_same_again_none(team: Team) -> None:
    created = {"Agent/experts.writer": "created", "Connector/fast": "created", "rev": 1}
    assert await team.apply(WRITER, FAST) == created
    assert {each.kind.value: each.id for each in team.checked[0].definitions} == {
        "Agent": "experts.writer",
        "Connector": "fast",
    }
    assert team.checked[0].entries == ["Agent/experts.writer", "Connector/fast"]
    copied = team.copies.current["acme"]
    assert (copied.rev, copied.entries) == (1, {"Agent/experts.writer": 1, "Connector/fast": 1})
    assert team.copies.sets["acme", 1].entries == copied.entries
    assert team.copies.definitions["acme", "Agent/experts.writer", 1].spec == WRITER["spec"]
    assert await team.apply(WRITER, FAST) == {key: "unchanged" for key in created if key != "rev"} | {"rev": 1}
    changed = await team.apply(writer("You write well."), STORE)
    assert changed == {"Agent/experts.writer": "changed", "MCPServer/store": "created", "rev": 2}
    listed = (await team.call("GET")).json()
    shown = {each["id"]: (each["rev"], each["written_by"] != "") for each in listed["definitions"]}
    assert (listed["rev"], listed["canary"]) == (2, None)
    assert shown == {"experts.writer": (2, True), "fast": (1, True), "store": (2, True)}
    assert [each["id"] for each in (await team.call("GET", "?kind=MCPServer")).json()["definitions"]] == ["store"]
    assert (await team.prompt(), await team.prompt("?rev=1")) == ("You write well.", "You write.")


async def test_a_dry_run_says_what_would_be_and_prune_deletes_what_is_not_written(team: Team) -> None:
    await team.apply(WRITER, FAST)
    answer = await team.call("POST", json={"definitions": [writer("New.")], "prune": True, "dry_run": True})
    changes = [(each["outcome"], each["before"], each["after"]) for each in answer.json()["definitions"]]
    assert changes == [("changed", WRITER["spec"], {"prompt": "New."}), ("deleted", FAST["spec"], None)]
    assert await team.prompt() == "You write."
    done = await team.apply(writer("New."), prune=True)
    assert done == {"Agent/experts.writer": "changed", "Connector/fast": "deleted", "rev": 2}
    assert team.copies.current["acme"].entries == {"Agent/experts.writer": 2}
    assert error_of(await team.call("GET", "/Connector/fast")) == (404, "definition_not_found")
    history = (await team.call("GET", "/Connector/fast/revisions")).json()["revisions"]
    assert [(each["rev"], each["deleted"]) for each in history] == [(2, True), (1, False)]


async def test_what_is_wrong_is_named_and_nothing_is_stored(team: Team) -> None:
    wrong = [{**WRITER, "spec": {"promt": "x"}}, FAST, FAST, {**STORE, "spec": {"label": "S", "url": "ftp://x"}}]
    assert fields_of(await team.call("POST", json={"definitions": wrong})) == {
        "Agent/experts.writer prompt": "Field required",
        "Agent/experts.writer promt": "Extra inputs are not permitted",
        "MCPServer/store url": "expected an address that begins with https:// or http://, or $SECRET.NAME",
        "Connector/fast": "is there twice: expected one",
    }
    kept = {**FAST, "spec": {**FAST["spec"], "options": {"model": "m", "key": "sk-in-the-open"}}}
    answer = await team.call("POST", json={"definitions": [kept]})
    assert "options.key" in answer.text
    assert "sk-in-the-open" not in answer.text
    team.problems = [DefinitionProblem(kind="Agent", id="experts.writer", field="connector", message="no such one")]
    refused = await team.call("POST", json={"definitions": [WRITER]})
    assert fields_of(refused) == {"Agent/experts.writer connector": "no such one"}
    assert (await team.call("GET")).json() == {"rev": 0, "canary": None, "definitions": []}


async def test_without_an_executor_nothing_is_stored() -> None:
    async with gateway() as made:
        made.key = await made.make_team()
        assert (await made.call("POST", AT, json={"definitions": [WRITER]})).status_code == 503
        assert (await made.call("GET", AT)).json()["rev"] == 0


async def test_a_definition_is_deleted_and_rolled_back(team: Team) -> None:
    for number in range(3):
        await team.apply(writer(f"Words {number}."))
    back = await team.call("POST", "/Agent/experts.writer/rollback", json={})
    assert back.json() == {
        "rev": 4,
        "definitions": [
            {"kind": "Agent", "id": "experts.writer", "outcome": "changed", "rev": 4, "before": None, "after": None}
        ],
    }
    assert await team.prompt() == "Words 1."
    assert (await team.call("POST", "/Agent/experts.writer/rollback", json={"to": 1})).status_code == 200
    assert await team.prompt() == "Words 0."
    assert (await team.call("DELETE", "/Agent/experts.writer")).json()["rev"] == 6
    assert team.copies.current["acme"].entries == {}
    assert error_of(await team.call("DELETE", "/Agent/experts.writer")) == (404, "definition_not_found")
    assert (await team.call("POST", "/Agent/experts.writer/rollback", json={})).status_code == 200
    assert await team.prompt() == "Words 0."
    history = (await team.call("GET", "/Agent/experts.writer/revisions")).json()["revisions"]
    assert [each["rolled_back_to"] for each in history] == [5, None, 1, 2, None, None, None]
    gone = await team.call("POST", "/Agent/experts.writer/rollback", json={"to": 99})
    assert error_of(gone) == (404, "revision_not_found")


async def test_of_many_changes_at_once_none_is_lost(team: Team) -> None:
    agents = [writer("x") | {"id": f"experts.n{number}"} for number in range(4)]
    async with team.made.replica() as other:
        other.key = team.made.key
        answers = await asyncio.gather(
            *((team.made, other)[n % 2].call("POST", AT, json={"definitions": [agents[n]]}) for n in range(4))
        )
    assert {answer.status_code for answer in answers} == {200}
    assert {answer.json()["rev"] for answer in answers} == {1, 2, 3, 4}
    assert len(team.copies.current["acme"].entries) == 4


async def test_a_canary_takes_its_share_of_new_runs_until_it_is_promoted_or_aborted(team: Team) -> None:
    await team.apply(writer("Old."))
    assert (await team.apply(writer("New."), canary=20))["rev"] == 2
    assert await team.prompt() == "Old."
    current = team.copies.current["acme"]
    began = [current.rev_of(f"run-{number}") for number in range(1_000)]
    assert current.rev == 1
    assert 150 < began.count(2) < 250
    assert team.copies.definitions["acme", "Agent/experts.writer", 2].spec["prompt"] == "New."
    assert error_of(await team.call("POST", json={"definitions": [FAST]})) == (409, "canary_on")
    figures = (await team.call("GET", "/canary")).json()
    assert figures["canary"]["share"] == 20
    assert [(each["rev"], each["runs"], each["completed"]) for each in figures["counts"]] == [(1, 10, 9), (2, 20, 18)]
    assert (await team.call("PUT", "/canary", json={"share": 50})).json()["canary"]["share"] == 50
    assert (await team.call("POST", "/canary/abort")).json()["canary"] is None
    assert {team.copies.current["acme"].rev_of(f"run-{number}") for number in range(100)} == {1}
    assert error_of(await team.call("GET", "/canary")) == (404, "no_canary")
    assert error_of(await team.call("POST", "/canary/promote")) == (409, "no_canary")
    assert (await team.apply(writer("Newer."), canary=1))["rev"] == 3
    assert (await team.call("POST", "/canary/promote")).json()["rev"] == 3
    assert await team.prompt() == "Newer."
    assert team.copies.current["acme"].rev_of("any") == 3


async def test_what_was_stored_while_the_bus_was_away_is_copied_later_and_a_repeat_is_harmless(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    await team.apply(WRITER)

    async def away(current: Any) -> None:
        team.copies.away = True
        team.copies.check()

    monkeypatch.setattr(team.copies, "put_current", away)
    answer = await team.call("POST", json={"definitions": [writer("New.")]})
    assert error_of(answer) == (503, "stored_not_applied")
    assert error_of(await team.call("POST", json={"definitions": [FAST]}))[0] == 503, "before anything is stored"
    monkeypatch.undo()
    team.copies.away = False
    assert await team.apply(writer("New.")) == {"Agent/experts.writer": "unchanged", "rev": 2}
    assert team.copies.current["acme"].entries == {"Agent/experts.writer": 2}


async def test_executors_that_know_the_current_set_are_counted(team: Team) -> None:
    async def report(name: str, seen: int, capacity: int = 5) -> None:
        now = team.made.use.clock()
        fact = ExecutorReportedV1(
            team_id=ALL, member_id=ALL, executor_id=name, capacity=capacity, at=now, definitions_seen=seen
        )
        await team.made.bus.publish(EXECUTOR_REPORTED, fact, caused_by=f"{name} {seen} {capacity}")

    async def seen() -> tuple[int, int, int]:
        body = (await team.call("GET", "/seen")).json()
        return body["rev"], body["executors"], body["seen"]

    assert await seen() == (0, 0, 0)
    await report("one", 0)
    await report("two", 0)
    await team.made.bus.settled()
    assert await seen() == (0, 2, 2)
    await team.apply(WRITER)
    assert await seen() == (1, 2, 0)
    await report("one", 99)
    await report("two", 99, capacity=0)
    await team.made.bus.settled()
    assert await seen() == (1, 1, 1)


async def test_a_team_has_its_share_and_no_other_team_its_definitions() -> None:
    async with gateway(settings(definitions_per_team=1)) as made:
        made.key = await made.make_team()
        play = Team(made)
        made.bus.answer(CHECK_DEFINITIONS, play.check)
        await play.apply(WRITER)
        refused = await play.call("POST", json={"definitions": [FAST]})
        assert error_of(refused) == (409, "share_used")
        assert "ROTA_DEFINITIONS_PER_TEAM" in refused.text
        made.key = await made.make_team("globex")
        mine = "/v1/teams/globex/definitions"
        assert (await made.call("GET", mine)).json()["definitions"] == []
        assert (await made.call("GET", f"{mine}/Agent/experts.writer")).status_code == 404
        for method, path in (("GET", ""), ("POST", ""), ("DELETE", "/Agent/experts.writer"), ("GET", "/seen")):
            answer = await made.call(method, AT + path, json={"definitions": []} if method == "POST" else None)
            assert answer.status_code == 403, (method, path)
    assert HISTORY == 20
