"""The command tree: help, examples, --json, exit codes; and which commands run without the extra."""

import importlib.metadata
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.core import TyperCommand

from rota import context, context_files
from rota.lazy_commands import COMMANDS, load
from rota.main import main

SERVER_COMMANDS = (["up"], ["upgrade", "--check"], ["demo"], ["nats-config", "--out", "x"], ["feed-clients", "list"])
HEAVY = (
    *("rota_common", "trigger_gateway", "scheduler", "executor", "validator", "delivery_center", "learner", "memory"),
    *(
        "nats",
        "nkeys",
        "faststream",
        "motor",
        "pymongo",
        "litellm",
        "qdrant_client",
        "starlette",
        "uvicorn",
        "structlog",
    ),
    *("aiosmtpd", "standardwebhooks", "fastapi", "cryptography"),
)
WITHOUT_THE_EXTRA = f"""
import contextlib, io, json, sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {HEAVY!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
from rota.main import main
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        try:
            main(words)
        except SystemExit as end:
            code = end.code
    print(json.dumps([code, out.getvalue()]))
"""
WRONG_USES = """
    nonsense
    trigger
    trigger a --type event
    trigger a --action plan.add
    trigger a --type clock --attach x
    logs
    dead redrive
    dead redrive 1 --all
    executions --status odd
    intervene a
    intervene a --action dance
    intervene a --action task.update --set colour=red
    intervene a --action task.update --set args=[1
    answer e1
    pause
    stop e1 --team
    resume --robot a --team
    replay
    kb put policies
    kb put policies a.md b.md --id x
    kb search
    kb search x --limit 101
    kb remove
    lessons forget a
    lessons forget a l1 --all
    lessons forget a --by c-1 --all
    plan add a
    plan add a -m x --at tomorrow
    plan update a p1
    plan remove a
    keys create
    keys create --role king
    subscriptions add sales
    robots next a --count 101
    connectors test
    deliveries --since yesterday
    deliveries --since 2026-03-02T09:00:00
    deliveries replay
    deliveries replay d1 --since 1h
    targets enable
    suppressions add
    clock
    clock --every 30m --daemon
    clock --every 30m --days Mon
    clock --file robot.yaml --tz UTC
    clock --every 30m --from yesterday
"""


def commands() -> Iterator[tuple[str, TyperCommand]]:
    """Every visible command by its name, groups that do something by themselves included."""
    for name in COMMANDS:
        yield from below(name, load(name))


def below(name: str, command: TyperCommand) -> Iterator[tuple[str, TyperCommand]]:
    subcommands = getattr(command, "commands", {})
    if not subcommands or command.invoke_without_command:
        yield name, command
    for inner, subcommand in subcommands.items():
        yield from below(f"{name} {inner}", subcommand)


EVERY = dict(commands())


def ended(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Exit code, standard output and standard error."""
    with pytest.raises(SystemExit) as caught:
        main(words)
    printed = capsys.readouterr()
    return int(caught.value.code or 0), printed.out, printed.err


def test_all_commands_are_there() -> None:
    assert set(EVERY) == {
        *("up", "upgrade", "demo", "apply", "validate", "listen", "trigger", "watch", "logs", "doctor", "clock"),
        *("context", "context use", "context forget"),
        *("sources", "sources list", "sources show", "sources add", "sources add-database", "sources rotate"),
        "sources remove",
        *("secrets", "secrets list", "secrets set", "secrets remove", "secrets rotate-key"),
        *("robots", "robots show", "robots history", "robots next", "robots delete", "robots get", "robots init"),
        *("definitions list", "definitions show", "definitions history", "definitions delete", "rollback"),
        *("canary show", "canary share", "canary promote", "canary abort"),
        *("intervene", "answer", "pause", "resume", "stop", "replay"),
        *("plan", "plan add", "plan update", "plan remove"),
        *("keys", "keys create", "keys delete", "subscriptions", "subscriptions add", "subscriptions remove"),
        *(
            "executions",
            "executions show",
            "executions trace",
            "executions trail",
            "executions retry",
            "dead list",
            "dead show",
            "dead redrive",
            "webhook send",
            "webhook ask",
        ),
        *(
            "kb put",
            "kb search",
            "kb remove",
            "attachments list",
            "attachments put",
            "attachments get",
            "attachments delete",
            "audit",
            "spend",
        ),
        *(
            "deliveries",
            "deliveries show",
            "deliveries replay",
            "deliveries retry",
            "targets",
            "targets enable",
            "targets disable",
        ),
        *("suppressions", "suppressions add", "suppressions remove"),
        *("quarantine", "quarantine show", "quarantine release", "quarantine drop"),
        *("members", "members show", "members delete"),
        *("teams", "teams create", "teams remove"),
        *("events", "events show"),
        *("approvals", "approvals show", "approvals approve", "approvals deny", "approvals decide"),
        *("files ls", "files cat", "files put", "files rm"),
        *("lessons list", "lessons forget", "agents list", "agents call", "connectors list", "connectors test"),
        *("agents calls", "agents abort"),
        *("agents files ls", "agents files cat", "agents files put", "agents files rm"),
        *("nats-config", "feed-clients add", "feed-clients list", "feed-clients remove", "feed-clients rewind"),
        "feed-clients reload",
    }


def test_every_command_has_help_an_example_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = []
    for name, command in EVERY.items():
        code, out, _ = ended([*name.split(), "--help"], capsys)
        if code or "--json" not in out or not command.help or f"rota {name}" not in (command.epilog or ""):
            wrong.append(name)
    assert wrong == [], "each needs a docstring, an epilog with an example, and --json"


def test_no_help_has_what_its_markup_swallows() -> None:
    swallowed = {}
    for name, command in EVERY.items():
        texts = [command.help or "", *(getattr(each, "help", None) or "" for each in command.params)]
        if found := re.findall(r"<[A-Za-z/][^>]*>", " ".join(texts)):
            swallowed[name] = found
    assert swallowed == {}, "write it without < and >"


def test_a_group_that_lists_by_its_bare_name_takes_list_too(capsys: pytest.CaptureFixture[str]) -> None:
    bare = [name for name in COMMANDS if hasattr(load(name), "commands") and load(name).invoke_without_command]
    assert {"executions", "keys", "deliveries"} <= set(bare)
    assert [name for name in bare if ended([name, "list", "--help"], capsys)[0]] == []
    assert "--status" in ended(["executions", "list", "--help"], capsys)[1]


def test_the_table_of_commands_says_what_their_own_help_begins_with() -> None:
    begin = {name: " ".join((load(name).help or "").partition("\n\n")[0].split()) for name in COMMANDS}
    assert {name: text for name, (_, text) in COMMANDS.items()} == begin


@pytest.mark.integration  # a process of its own
def test_the_list_of_commands_imports_none_and_a_command_only_what_it_needs() -> None:
    show = "import sys; from rota.main import main\ntry: main(sys.argv[1:])\nfinally: print(*sys.modules)"
    commands = ("--version", "--help", "robots --help", "executions --help")
    runs = [[sys.executable, "-c", show, *words.split()] for words in commands]
    printed = [subprocess.run(each, capture_output=True, text=True, check=True).stdout for each in runs]
    version, listed, help_of_one, help_of_runs = (set(text.splitlines()[-1].split()) for text in printed)
    assert not {"rich", "pydantic", "httpx", "rota.commands"} & version
    assert not {"pydantic", "httpx", "rota.commands"} & listed
    assert {name for name in help_of_one if name.startswith("rota.commands.")} == {"rota.commands.robots"}
    assert not {"rota_contracts.robots.robot", "rota_contracts.robots.clock_config", "yaml"} & help_of_one
    assert not {name for name in help_of_runs if name.startswith(("rota_contracts.messages", "rota.report"))}


def test_wrong_usage_ends_with_2_and_prints_the_usage(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = []
    for line in WRONG_USES.split("\n"):
        if words := line.split():
            code, out, err = ended(words, capsys)
            if (code, out) != (2, "") or "Usage" not in err:
                wrong.append((line.strip(), code, out, err))
    assert wrong == []


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(["--version"], capsys) == (0, f"rota {importlib.metadata.version('rota')}\n", "")


def test_the_old_name_of_feed_clients_works_and_is_hidden(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(["subscribers", "rewind", "--help"], capsys)[0] == 0
    assert "subscribers" not in ended(["--help"], capsys)[1]


def test_an_expected_failure_ends_with_1_and_prints_what_to_do(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(context_files, "config_folder", lambda: tmp_path)
    for variable in context.VARIABLES.values():
        monkeypatch.delenv(variable, raising=False)
    code, out, err = ended(["robots"], capsys)
    assert (code, out) == (1, "")
    assert "ROTA_URL" in err
    assert "rota up" in err
    assert "Traceback" not in err


@pytest.mark.integration  # a process of its own, with each command in it
def test_clients_run_without_the_extra_and_the_others_name_it(tmp_path: Path) -> None:
    (tmp_path / "robot.yaml").write_text("member_id: a\nrobot_config: {identity: {role: A}}\n")
    environ = {"HOME": str(tmp_path), "ROTA_URL": "http://127.0.0.1:9", "ROTA_TEAM": "a", "ROTA_API_KEY": "b"}
    helps = [[*name.split(), "--help"] for name in ("", *EVERY)]
    clients = [["apply", "-f", "robot.yaml"], ["sources", "add", "leads", "--secret", "$ENV.A"], ["robots"]]
    lines = [*helps, *clients, *SERVER_COMMANDS, ["doctor"]]
    command = [sys.executable, "-c", WITHOUT_THE_EXTRA, json.dumps(lines)]
    done = subprocess.run(command, env=environ, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    ends = {" ".join(words): json.loads(line) for words, line in zip(lines, done.stdout.splitlines(), strict=True)}
    assert [name for name, (code, _) in ends.items() if "--help" in name and code] == []
    refused = "no answer from http://127.0.0.1:9: connection refused by 127.0.0.1:9"
    for words in clients:
        code, printed = ends[" ".join(words)]
        assert (code, refused in printed) == (1, True), printed
    for words in SERVER_COMMANDS:
        code, printed = ends[" ".join(words)]
        assert (code, "pip install 'rota[server]'" in printed) == (1, True), printed
    assert "the extra `server`" in ends["doctor"][1]
