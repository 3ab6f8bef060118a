"""Every command of the program: its help, its example, its JSON, its exit codes."""

from collections.abc import Iterator

import pytest
import typer.main

from rota import context
from rota.main import app, main

COMMAND = tuple[tuple[str, ...], typer.core.TyperCommand]


def commands() -> Iterator[tuple[str, typer.core.TyperCommand]]:
    """Every command by its words, groups that do something by themselves included."""
    for name, command in typer.main.get_group(app).commands.items():
        subcommands = getattr(command, "commands", {})
        if not subcommands or command.invoke_without_command:
            yield name, command
        for inner, subcommand in subcommands.items():
            yield f"{name} {inner}", subcommand


EVERY = dict(commands())


def test_all_commands_are_there() -> None:
    assert set(EVERY) == {
        *("up", "demo", "apply", "trigger", "watch", "doctor", "clock"),
        *("sources", "sources list", "sources show", "sources add", "sources add-database", "sources rotate"),
        "sources remove",
        *("robots", "robots show", "robots next", "robots delete"),
        *("intervene", "answer", "pause", "resume", "stop", "replay"),
        *("plan", "plan add", "plan update", "plan remove"),
        *("keys", "keys create", "keys delete", "subscriptions", "subscriptions add", "subscriptions remove"),
        *("executions", "executions show", "dead list", "dead show", "dead redrive", "webhook send", "webhook ask"),
        *("kb put", "kb search", "kb remove", "attachments put", "attachments get"),
        *("deliveries", "deliveries show", "deliveries replay", "targets", "targets enable", "targets disable"),
        *("suppressions", "suppressions add", "suppressions remove"),
        *("nats-config", "subscribers add", "subscribers list", "subscribers remove", "subscribers rewind"),
        "subscribers reload",
    }


@pytest.mark.parametrize("name", EVERY)
def test_every_command_says_what_it_does_shows_an_example_and_can_print_json(name: str) -> None:
    command = EVERY[name]
    assert command.help
    assert f"rota {name}" in (command.epilog or "")
    assert any("--json" in parameter.opts for parameter in command.params)


@pytest.mark.parametrize("name", EVERY)
def test_help_works_everywhere(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([*name.split(), "--help"])
    assert caught.value.code == 0
    assert "--json" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ["nonsense"],
        ["trigger"],
        ["trigger", "a", "--type", "event"],
        ["dead", "redrive"],
        ["dead", "redrive", "1", "--all"],
        ["executions", "--status", "odd"],
        ["trigger", "a", "--action", "plan.add"],
        ["intervene", "a"],
        ["intervene", "a", "--action", "dance"],
        ["intervene", "a", "--action", "task.update", "--set", "colour=red"],
        ["intervene", "a", "--action", "task.update", "--set", "args=[1"],
        ["answer", "e1"],
        ["pause"],
        ["stop", "e1", "--team"],
        ["resume", "--robot", "a", "--team"],
        ["replay"],
        ["kb", "put", "policies"],
        ["kb", "put", "policies", "a.md", "b.md", "--id", "x"],
        ["kb", "search"],
        ["kb", "search", "x", "--limit", "101"],
        ["kb", "remove"],
        ["plan", "add", "a"],
        ["plan", "add", "a", "-m", "x", "--at", "2030-01-01T09:00:00"],
        ["plan", "update", "a", "p1"],
        ["plan", "remove", "a"],
        ["keys", "create"],
        ["keys", "create", "--role", "king"],
        ["subscriptions", "add", "sales"],
        ["robots", "next", "a", "--count", "101"],
        ["deliveries", "--since", "yesterday"],
        ["deliveries", "--since", "2026-03-02T09:00:00"],
        ["deliveries", "replay"],
        ["deliveries", "replay", "d1", "--since", "1h"],
        ["targets", "enable"],
        ["suppressions", "add"],
        ["clock"],
        ["clock", "--every", "30m", "--daemon"],
        ["clock", "--every", "30m", "--days", "Mon"],
        ["clock", "--file", "robot.yaml", "--tz", "UTC"],
        ["clock", "--every", "30m", "--from", "yesterday"],
    ],
)
def test_a_command_written_wrong_ends_with_2_and_says_so(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(words)
    told = capsys.readouterr()
    assert caught.value.code == 2
    assert told.out == ""
    assert "Usage" in told.err


def test_an_expected_failure_ends_with_1_and_one_that_reads_it_knows_what_to_do(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setattr(context, "context_file", lambda: tmp_path / "none.json")
    for variable in context.VARIABLES.values():
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(SystemExit) as caught:
        main(["robots"])
    told = capsys.readouterr()
    assert caught.value.code == 1
    assert told.out == ""
    assert "ROTA_URL" in told.err
    assert "rota up" in told.err
    assert "Traceback" not in told.err
