"""The context of commands: the files, the current one, and the variables that override it."""

import stat
from functools import partial
from pathlib import Path

import httpx
import pytest
from cli.tests.harness import Command

from rota import context, context_files
from rota.client import Api
from rota.context import Context
from rota.errors import CliError
from rota.server.own_context import free_name, save_own

HERE = Context("http://127.0.0.1:8080", "main", "key", "admin")
OTHER = Context("http://127.0.0.1:9090", "main", "key-2", "admin-2")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(context_files, "config_folder", lambda: tmp_path)
    for variable in (context.NAME_VARIABLE, *context.VARIABLES.values()):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The addresses of the Rotas that answer."""
    urls: set[str] = set()

    def answer(request: httpx.Request) -> httpx.Response:
        if str(request.url).removesuffix("/health/live") not in urls:
            raise httpx.ConnectError("refused", request=request)
        return httpx.Response(200, json={"service": "trigger-gateway", "live": True})

    monkeypatch.setattr("rota.server.own_context.Api", partial(Api, transport=httpx.MockTransport(answer)))
    return urls


def test_the_one_file_of_earlier_versions_is_the_default_context(folder: Path) -> None:
    (folder / "context.json").write_text('{"url": "http://127.0.0.1:8080", "team": "main", "of another version": 1}')
    assert context.load({}) == Context("http://127.0.0.1:8080", "main")
    assert context_files.names() == ["default"]


def test_commands_use_the_option_then_the_variable_then_the_current_context(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def used(*words: str) -> list[str]:
        rows = [line.split() for line in command(*words, "context")[1].splitlines()[1:]]
        return [row[1] for row in rows if row[0] == "*"]

    for name in ("a", "b", "c"):
        context.save(HERE, name)
    assert used() == []
    assert command("context", "use", "c")[0] == 0
    assert used() == ["c"]
    monkeypatch.setenv("ROTA_CONTEXT", "b")
    assert used() == ["b"]
    assert used("--context", "a") == ["a"]


def test_only_the_owner_can_read_the_file() -> None:
    for _ in range(2):
        assert stat.S_IMODE(context.save(HERE, "a").stat().st_mode) == 0o600


def test_a_variable_overrides_the_file() -> None:
    context.save(HERE, "a")
    environ = {"ROTA_CONTEXT": "a", "ROTA_TEAM": "other", "ROTA_API_KEY": ""}
    assert context.load(environ) == Context(HERE.url, "other", "key", "admin")


def test_without_file_and_variables_the_error_names_the_variable_and_the_contexts_there_are() -> None:
    context.save(HERE, "a")
    with pytest.raises(CliError, match="ROTA_URL") as caught:
        context.load({}).need("url", "team")
    assert "rota up" in caught.value.hint
    assert "`rota context use NAME` chooses a context: a" in caught.value.hint


def test_an_unknown_context_is_an_error_that_names_the_known_ones(command: Command) -> None:
    context.save(HERE, "a")
    for words in (["--context", "x", "robots"], ["context", "use", "x"], ["context", "forget", "x"]):
        code, out, err = command(*words)
        assert (code, out) == (1, "")
        assert "not x; there is: a" in err
    assert "of letters, digits" in command("--context", "../x", "robots")[2]


def test_an_unreadable_file_is_an_error(folder: Path) -> None:
    (folder / "context.json").write_text("{")
    with pytest.raises(CliError, match="context.json"):
        context.load({})


def test_a_stopped_rota_removes_only_its_own_file() -> None:
    context.save(HERE, "a")
    context_files.use("a")
    context.forget(OTHER, "a")
    assert context_files.current() == "a"
    context.forget(HERE, "a")
    assert (context_files.names(), context_files.current()) == ([], "default")


async def test_a_rota_that_starts_leaves_the_current_context_to_one_that_answers(running: set[str]) -> None:
    assert await save_own(HERE, "a")
    running.add(HERE.url)
    assert not await save_own(OTHER, "b")
    assert context.load({}) == HERE
    running.clear()
    assert await save_own(OTHER, "b")
    assert context.load({}) == OTHER


async def test_the_name_is_the_folders_unless_another_running_rota_has_it(running: set[str]) -> None:
    folder = Path("my data")
    context.save(HERE, "my-data")
    assert await free_name("", folder) == "my-data"
    running.add(HERE.url)
    assert await free_name("", folder) == "my-data-2"
    with pytest.raises(CliError, match="another Rota: http://127.0.0.1:8080"):
        await free_name("my-data", folder)


async def test_a_context_of_a_rota_elsewhere_is_never_replaced(running: set[str]) -> None:
    context.save(Context("https://rota.example"), "data")
    assert await free_name("", Path("data")) == "data-2"


def test_the_error_about_a_missing_key_says_whose_it_is_and_starts_no_rota_where_one_is_named() -> None:
    elsewhere = Context("https://rota.example", "main", "key")
    for name, says in (("admin_key", "administrator's key: ROTA_ADMIN_KEY"), ("nats_config", "ROTA_NATS_CONFIG")):
        with pytest.raises(CliError, match=says) as caught:
            elsewhere.need(name)
        assert "rota up" not in caught.value.hint
        assert "a admin" not in caught.value.what
    with pytest.raises(CliError) as caught:
        elsewhere.need("admin_key")
    assert "compose: in `.env`" in caught.value.hint


@pytest.mark.parametrize("own", [True, False])
def test_a_refused_key_is_named_by_where_it_is_from_and_rota_up_only_for_its_own_context(
    command: Command, monkeypatch: pytest.MonkeyPatch, own: bool
) -> None:
    def refuse(_: httpx.Request) -> httpx.Response:
        return httpx.Response(401, json={"error": {"code": "unauthorized", "message": "unknown key"}})

    monkeypatch.setattr("rota.running.Api", partial(Api, transport=httpx.MockTransport(refuse)))
    context.save(Context(HERE.url, "main", "key", "admin", mongo_url="mongodb://x" if own else ""), "a")
    context_files.use("a")
    for words, field in ((("keys",), "api_key"), (("dead", "list"), "admin_key")):
        err = command(*words)[2]
        assert (f"{field} in {context_files.context_file('a')}" in err, "rota up" in err) == (True, own), err
    monkeypatch.setenv("ROTA_API_KEY", "other")
    assert "the key is from ROTA_API_KEY: correct it" in command("keys")[2]
    monkeypatch.setenv("ROTA_API_KEY", "sch\u00fcssel")
    code, _, err = command("keys")
    assert (code, "at place 4" in err, "from ROTA_API_KEY" in err, "ssel" in err) == (1, True, True, False)
