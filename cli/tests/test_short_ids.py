"""Ids by their first characters, in every command that takes an id."""

import json

import pytest
from cli.tests.harness import Command, Gateway

ID = "0c6f2f0e-9a51-5d0c-8a31-6f0b7c1d2e3f"
LISTS = {
    "/executions": ("executions", "execution_id"),
    "/deliveries": ("deliveries", "request_id"),
    "/quarantine": ("results", "quarantine_id"),
    "/approvals": ("approvals", "approval_id"),
}
USES = {
    "executions show": "/executions",
    "executions trail": "/executions",
    "executions trace": "/executions",
    "executions retry": "/executions",
    "replay": "/executions",
    "pause": "/executions",
    "resume": "/executions",
    "stop": "/executions",
    "answer": "/executions",
    "deliveries show": "/deliveries",
    "deliveries replay": "/deliveries",
    "deliveries retry": "/deliveries",
    "quarantine show": "/quarantine",
    "quarantine release": "/quarantine",
    "quarantine drop": "/quarantine",
    "approvals show": "/approvals",
    "approvals approve": "/approvals",
    "approvals deny": "/approvals",
}
FILTERS = ("deliveries", "quarantine", "approvals")


@pytest.fixture
def listing(gateway: Gateway) -> Gateway:
    """A gateway whose lists have one item each."""
    for path, (items, field) in LISTS.items():
        gateway.responses[path] = {items: [{field: ID, "member_id": "leader"}], "next": ""}
    return gateway


def test_the_first_characters_of_an_id_are_enough(listing: Gateway, command: Command) -> None:
    wrong = []
    for words, path in USES.items():
        listing.asked.clear()
        command(*words.split(), "0c6f", *(["text"] if words == "answer" else []))
        paths = [asked for asked, _ in listing.asked]
        if paths[0] != path or not paths[1].startswith(f"{path}/{ID}"):
            wrong.append((words, paths))
    assert wrong == []


def test_so_they_are_in_options(listing: Gateway, command: Command) -> None:
    listing.responses["/robots/leader/intervene"] = {"execution_id": ID, "message": "instructed"}
    assert command("intervene", "leader", "--action", "instruct", "-m", "Go", "--execution", "0c6f")[0] == 0
    assert listing.asked[-1][1]["execution_id"] == ID
    for name in FILTERS:
        command(name, "--execution", "0c6f", "--json")
        assert listing.requests[-1].url.params["execution_id"] == ID


def test_several_matches_are_listed_and_nothing_is_done(listing: Gateway, command: Command) -> None:
    other = ID.replace("0c6f2f0e", "0c6f9999")
    runs = [{"execution_id": each, "member_id": "leader", "status": "running"} for each in (ID, other)]
    listing.responses["/executions"] = {"executions": runs, "next": ""}
    code, out, err = command("stop", "0c6f")
    assert (code, out, len(listing.asked)) == (1, "", 1)
    assert f"{ID}  leader  running" in err
    assert other in err


def test_an_unknown_beginning_is_an_error_after_three_pages(gateway: Gateway, command: Command) -> None:
    gateway.responses["/executions"] = {"executions": [{"execution_id": ID}], "next": "more"}
    code, _, err = command("stop", "ffff")
    assert (code, len(gateway.asked)) == (1, 3)
    assert "no execution of the newest 3 begins with ffff" in err
    assert "the whole id" in err


def test_a_whole_id_and_fewer_than_4_characters_are_taken_as_they_are(gateway: Gateway, command: Command) -> None:
    for given in (ID, "0c6"):
        gateway.responses[f"/executions/{given}"] = {"execution_id": given}
        assert json.loads(command("executions", "show", given, "--json")[1])["execution_id"] == given
    assert "/executions" not in [path for path, _ in gateway.asked]
