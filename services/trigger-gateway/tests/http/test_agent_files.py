"""The person of a key: in whose name agents are called, and the files that this person has with them."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from rota_common.testing.samples import NOON
from rota_contracts.catalog import (
    CALL_AGENT,
    CHECK_DEFINITIONS,
    DELETE_FILE,
    LIST_AGENTS,
    LIST_FILES,
    READ_FILE,
    WRITE_FILE,
)
from rota_contracts.messages.agent import AgentReply, CallAgent
from rota_contracts.messages.definition import DefinitionProblems
from rota_contracts.messages.provider import AgentCard, AgentList, ListAgents
from rota_contracts.messages.workspace import (
    PERSONAL_FILES,
    DeleteFile,
    FileInfo,
    FileList,
    FileRefusal,
    FileReply,
    ForgetFiles,
    ListFiles,
    ReadFile,
    WriteFile,
)

from .harness import ADMIN, TEAM, Gateway, error_of, fields_of

KEEPER, OPEN = f"{TEAM}/agents/yao.keeper", f"{TEAM}/agents/yao.friend"
HELLO = {"messages": [{"role": "user", "content": "Hello."}]}
ASK = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"} | {
    "params": {"name": "ask_yao_keeper", "arguments": {"message": "Hello."}}
}
SEND = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage"} | {
    "params": {"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "Hello."}]}}
}
JSON = {"accept": "application/json"}

Asked = ReadFile | WriteFile | DeleteFile | ListFiles


@dataclass
class People:
    """Team acme with Ann and Ben, a key for each, an executor and a memory."""

    made: Gateway
    keys: dict[str, str] = field(default_factory=dict)
    calls: list[CallAgent] = field(default_factory=list)
    files: dict[tuple[str, str, str], str] = field(default_factory=dict)

    async def answer(self, call: CallAgent) -> AgentReply:
        self.calls.append(call)
        return AgentReply(agent_id=call.assistant_id, content=f"Hello {call.user_id}.")

    async def cards(self, request: ListAgents) -> AgentList:
        keeper = AgentCard(id="yao.keeper", name="Keeper", public=True)
        return AgentList(agents=[keeper, AgentCard(id="yao.friend", name="Friend", context="open")])

    async def write(self, request: WriteFile) -> FileReply:
        self.files[request.member_id, request.agent_id, request.path] = request.content
        return FileReply(file=self._info(request.path, request.content))

    async def read(self, request: ReadFile | DeleteFile) -> FileReply:
        found = self.files.get((request.member_id, request.agent_id, request.path))
        if found is None:
            return FileReply(refused=FileRefusal.NOT_FOUND, reason="not there")
        return FileReply(file=self._info(request.path, found), content=found)

    async def delete(self, request: DeleteFile) -> FileReply:
        reply = await self.read(request)
        self.files.pop((request.member_id, request.agent_id, request.path), None)
        return reply

    async def list(self, request: ListFiles) -> FileList:
        mine = {path: text for (*of, path), text in self.files.items() if of == [request.member_id, request.agent_id]}
        return FileList(files=[self._info(path, text) for path, text in mine.items()])

    def _info(self, path: str, text: str) -> FileInfo:
        return FileInfo(path=path, size=len(text), etag="e", revision=1, updated_at=NOON)

    async def add(self, name: str) -> None:
        made = await self.made.call("POST", f"{TEAM}/members", json={"member_id": name, "email": "a@acme.example"})
        assert made.status_code == 201, made.text

    async def ask(self, key: str, **more: Any) -> Any:
        return await self.made.call("POST", f"{KEEPER}/call", key=key, json=HELLO | more)


@pytest.fixture
async def acme_people(acme: Gateway) -> People:
    people = People(acme)
    acme.bus.answer(CALL_AGENT, people.answer)
    acme.bus.answer(LIST_AGENTS, people.cards)
    acme.bus.answer(WRITE_FILE, people.write)
    acme.bus.answer(READ_FILE, people.read)
    acme.bus.answer(DELETE_FILE, people.delete)
    acme.bus.answer(LIST_FILES, people.list)
    for name in ("ann", "ben"):
        await people.add(name)
        people.keys[name] = await acme.make_key("member", member_id=name)
    return people


async def test_the_person_who_calls_is_that_of_the_key_and_never_of_the_body(acme_people: People) -> None:  # EX-89
    people, call = acme_people, acme_people.made.call
    assert (await people.ask(people.keys["ann"])).json()["content"] == "Hello ann."
    assert fields_of(await people.ask(people.keys["ann"], user_id="ben")).keys() == {"user_id"}
    await people.ask(people.made.key)
    await call("POST", f"{TEAM}/mcp", key=people.keys["ann"], json=ASK, headers=JSON)
    await call("POST", f"{TEAM}/a2a/yao.keeper", key=people.keys["ben"], json=SEND, headers={"A2A-Version": "1.0"})
    assert [(call.user_id, call.member_id) for call in people.calls] == [
        (name, "_all_") for name in ("ann", None, "ann", "ben")
    ]


async def test_a_repeat_of_a_call_is_that_of_the_same_person_alone(acme_people: People) -> None:
    for name in ("ann", "ben", "ann"):
        assert (await acme_people.ask(acme_people.keys[name], request_id="1")).json()["content"] == f"Hello {name}."
    first, second, third = (call.call_id for call in acme_people.calls)
    assert first == third != second


async def test_a_key_is_for_a_person_who_is_there_and_lists_show_whose_it_is(acme_people: People) -> None:
    people, call = acme_people, acme_people.made.call
    unknown = await call("POST", f"{TEAM}/keys", json={"member_id": "eve"})
    assert error_of(unknown) == (404, "member_not_found")
    keys = (await call("GET", f"{TEAM}/keys")).json()["keys"]
    assert [key["member_id"] for key in keys] == [None, "ann", "ben"]
    assert (await call("DELETE", f"{TEAM}/members/ann")).status_code == 204
    assert error_of(await people.ask(people.keys["ann"])) == (403, "person_removed")
    await people.add("ann")
    assert error_of(await people.ask(people.keys["ann"])) == (403, "person_removed"), "this is another Ann"
    assert error_of(await call("GET", f"{KEEPER}/files", key=people.keys["ann"])) == (403, "person_removed")


async def test_a_person_reads_writes_and_deletes_own_files(acme_people: People) -> None:  # EX-82
    people, call = acme_people, acme_people.made.call
    ann: dict[str, Any] = {"key": people.keys["ann"]}
    made = await call("PUT", f"{KEEPER}/files/USER.md", content="I am Ann.", **ann)
    assert (made.status_code, made.json()["member_id"], made.json()["path"]) == (200, "ann", "USER.md")
    assert people.files == {("ann", "yao.keeper", "USER.md"): "I am Ann."}
    read = await call("GET", f"{KEEPER}/files/USER.md", **ann)
    assert (read.text, read.headers["etag"]) == ("I am Ann.", '"e"')
    listed = (await call("GET", f"{KEEPER}/files", **ann)).json()
    assert (listed["member_id"], [file["path"] for file in listed["files"]]) == ("ann", ["USER.md"])
    missing = await call("GET", f"{KEEPER}/files/USER.md", key=people.keys["ben"])
    assert error_of(missing) == (404, "file_not_found")
    assert (await call("DELETE", f"{KEEPER}/files/USER.md", **ann)).status_code == 204
    assert people.files == {}


async def test_others_files_are_an_admins(acme_people: People) -> None:
    people, call = acme_people, acme_people.made.call
    await call("PUT", f"{KEEPER}/files/USER.md", key=people.keys["ann"], content="I am Ann.")
    of_ann: dict[str, Any] = {"params": {"member": "ann"}}
    anyone, viewer, admin = [await people.made.make_key(role) for role in ("member", "viewer", "admin")]
    for key in (people.keys["ben"], anyone, viewer):
        for method, path in (("GET", ""), ("GET", "/USER.md"), ("PUT", "/USER.md"), ("DELETE", "/USER.md")):
            refused = await call(method, f"{KEEPER}/files{path}", key=key, **of_ann)
            assert error_of(refused) == (403, "role_too_low"), (method, path)
    for key in (admin, ADMIN):
        assert (await call("GET", f"{KEEPER}/files/USER.md", key=key, **of_ann)).text == "I am Ann."
        assert error_of(await call("GET", f"{KEEPER}/files", key=key)) == (422, "no_person")
    assert error_of(await call("GET", f"{KEEPER}/files", key=anyone)) == (403, "no_person")
    assert error_of(await call("GET", f"{KEEPER}/files", key=admin, params={"member": "eve"})) == (
        404,
        "member_not_found",
    )
    await call("DELETE", f"{KEEPER}/files/USER.md", key=admin, **of_ann)
    entries = (await call("GET", f"{TEAM}/audit")).json()["entries"]
    mine = [each for each in entries[::-1] if each["action"].endswith("_agent_file")]
    done = [(each["action"], each["on"]["member_id"], each["on"]["agent"]) for each in mine]
    assert done == [(f"{what}_agent_file", "ann", "yao.keeper") for what in ("write", "delete")]


async def test_only_what_an_agent_reads_of_a_person_is_written(acme_people: People) -> None:
    people, call = acme_people, acme_people.made.call
    ann: dict[str, Any] = {"key": people.keys["ann"], "content": "a"}
    for path in PERSONAL_FILES:
        assert (await call("PUT", f"{OPEN}/files/{path}", **ann)).status_code == 200, path
    for address in (f"{KEEPER}/files/SOUL.md", f"{OPEN}/files/notes.md", f"{OPEN}/files/a/USER.md"):
        assert fields_of(await call("PUT", address, **ann)).keys() == {"path"}, address
    unknown = await call("PUT", f"{TEAM}/agents/eve/files/USER.md", **ann)
    assert error_of(unknown) == (404, "agent_not_found")


async def test_files_end_with_the_person_and_with_the_teams_agent(acme_people: People) -> None:  # EX-82
    people, call, forgotten = acme_people, acme_people.made.call, acme_people.made.forgotten

    async def fine(request: Any) -> DefinitionProblems:
        return DefinitionProblems()

    people.made.bus.answer(CHECK_DEFINITIONS, fine)
    await call("DELETE", f"{TEAM}/members/ann")
    assert forgotten == 2 * [ForgetFiles(team_id="acme", member_id="ann")], "before, and what came meanwhile"
    forgotten.clear()
    own = [{"kind": "Agent", "id": f"experts.{name}", "spec": {"prompt": "You write."}} for name in "abc"]
    await call("POST", f"{TEAM}/definitions", json={"definitions": own})
    await call("POST", f"{TEAM}/definitions", json={"definitions": own[1:], "prune": True, "dry_run": True})
    assert forgotten == []
    await call("POST", f"{TEAM}/definitions", json={"definitions": own[1:], "prune": True})
    await call("DELETE", f"{TEAM}/definitions/Agent/experts.b")
    await call("POST", f"{TEAM}/definitions", json={"definitions": [], "prune": True, "canary": 50})
    assert [each.agent_ids for each in forgotten] == 2 * [["experts.a"]] + 2 * [["experts.b"]]
    await call("POST", f"{TEAM}/definitions/canary/promote")
    assert forgotten[-1] == ForgetFiles(team_id="acme", agent_ids=["experts.c"])
