"""`rota clock`: the runs of a clock, and errors of an invalid one."""

import json
from pathlib import Path

import pytest
from cli.tests.harness import Command

PARIS = ("--days", "Mon-Fri", "--tz", "Europe/Paris")
ROBOT = "member_id: {0}\nrobot_config:\n  identity: {{role: Tester}}\n"


def lines(command: Command, *words: str) -> list[str]:
    code, out, err = command("clock", *words)
    assert (code, err) == (0, "")
    return [" ".join(line.split()) for line in out.splitlines()]


def test_times_are_shown_as_text_and_in_their_zone(command: Command) -> None:  # SC-01, SC-02, SC-03
    printed = lines(command, "--times", "17:30,9:00", *PARIS, "--from", "2026-03-06T12:00", "--count", "2")
    assert printed == [
        "at 09:00 and 17:30 from Monday to Friday, by the time of Europe/Paris",
        "NEXT RUNS UTC",
        "Fri 2026-03-06 17:30:00 +01:00 2026-03-06 16:30:00",
        "Mon 2026-03-09 09:00:00 +01:00 2026-03-09 08:00:00",
    ]


@pytest.mark.parametrize(
    ("start", "moved"),
    [
        ("2026-03-27", "forward 60 minutes between Sat 2026-03-28 09:00 and Sun 2026-03-29 09:00"),
        ("2026-10-23", "back 60 minutes between Sat 2026-10-24 09:00 and Sun 2026-10-25 09:00"),
    ],
)
def test_a_change_of_the_offset_between_two_runs_is_shown(command: Command, start: str, moved: str) -> None:
    printed = lines(command, "--times", "09:00", "--tz", "Europe/Paris", "--from", start)
    assert printed[-1] == f"daylight saving: clocks in Europe/Paris go {moved}"
    assert len(printed) == 8
    assert len(lines(command, "--times", "09:00", "--tz", "Europe/Paris", "--from", "2026-06-01")) == 7


def test_a_skipped_time_is_due_after_the_change(command: Command) -> None:
    printed = lines(command, "--times", "02:30", "--tz", "Europe/Paris", "--from", "2026-03-28T12:00", "--count", "1")
    assert printed[-1] == "Sun 2026-03-29 03:00:00 +02:00 2026-03-29 01:00:00"


def test_an_interval_counts_from_the_start(command: Command) -> None:  # SC-04
    printed = lines(command, "--every", "90m", "--from", "2026-03-02T09:00:00Z", "--count", "2")
    assert printed[0] == "every 1 hour and 30 minutes, counted from when the clock was set"
    assert printed[1:] == ["NEXT RUNS (UTC)", "Mon 2026-03-02 10:30:00 +00:00", "Mon 2026-03-02 12:00:00 +00:00"]


def test_a_daemon_has_text_and_no_instants(command: Command) -> None:  # SC-05
    (printed,) = lines(command, "--daemon")
    assert printed.startswith("again and again")


def test_without_a_start_the_runs_are_from_now_on(command: Command) -> None:
    first, second = json.loads(command("clock", "--every", "1h", "--count", "2", "--json")[1])["upcoming"]
    assert first < second


def test_a_span_of_days_can_cross_the_end_of_the_week(command: Command) -> None:  # SC-02
    printed = json.loads(command("clock", "--times", "09:00", "--days", "Sat-Mon, Wed", "--json")[1])
    assert printed["clock"]["days"] == ["Sat", "Sun", "Mon", "Wed"]
    assert printed["words"] == "at 09:00 on Monday, Wednesday, Saturday and Sunday, by the time of UTC"
    assert len(printed["upcoming"]) == 5


def test_a_file_of_robots_is_read_one_by_one(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "robots.yaml"
    clock = '  clock: {mode: times, times: ["09:00"]}\n'
    path.write_text(f"{ROBOT.format('a')}{clock}---\n{ROBOT.format('b')}---\nmode: interval\nevery: 1h\n")
    printed = lines(command, "-f", str(path), "--count", "1")
    assert printed[0] == "a: at 09:00 every day, by the time of UTC"
    assert printed[3:5] == ["b: no clock", "every 1 hour, counted from when the clock was set"]
    printed = [json.loads(line) for line in command("clock", "-f", str(path), "--json")[1].splitlines()]
    assert [each["member_id"] for each in printed] == ["a", "b", None]
    assert printed[1]["clock"] is None


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (("--times", "25:00"), "--times: expected a time of day like 09:00 or 17:30, not '25:00'"),
        (
            ("--times", "09:00", "--days", "Mo-Fri"),
            "--days: expected Mon, Tue, Wed, Thu, Fri, Sat, Sun, a span like Mon-Fri, or *",
        ),
        (("--times", "09:00", "--tz", "Mars"), "--tz: expected an IANA time zone like Europe/Paris or UTC"),
        (("--every", "0m"), "--every: expected a duration longer than nothing, like 30m, not '0m'"),
    ],
)
def test_an_invalid_option_is_named_with_a_valid_example(
    command: Command, words: tuple[str, ...], printed: str
) -> None:
    code, out, err = command("clock", *words)
    assert (code, out) == (2, "")
    assert printed in " ".join(err.replace("│", " ").split())


WRONG = [
    ('mode: times, times: ["25:00"]', "times.0: expected a time of day like 09:00 or 17:30, not '25:00'"),
    ("mode: times", 'mode times needs times, for example ["09:00", "17:30"]'),
    ("mode: times, times: [1730]", "times.0: expected a time of day like 09:00 or 17:30, not 1730"),
    ('mode: times, times: "09:00"', 'times: expected a list like ["09:00", "17:30"], not \'09:00\''),
    ('mode: times, times: ["09:00"], tz: Mars', "tz: expected an IANA time zone like Europe/Paris or UTC, not 'Mars'"),
    ("mode: interval, every: 0m", "every: expected a duration longer than nothing, like 30m, not '0m'"),
    ("mode: interval, every: 30", "every: expected a duration like 30m, 2h or 1h30m, not 30"),
    ("mode: sometimes", "for example mode: times (or interval, or daemon)"),
    ("mode: daemon, catch_up: {policy: never}", "catch_up.policy: Input should be 'skip', 'once' or 'all'"),
    ("mode: daemon, evry: 5m", "evry: unknown field: did you mean every?; for example clock: {mode: times"),
]


@pytest.mark.parametrize(("clock", "printed"), WRONG)
def test_an_invalid_clock_in_a_file_is_named_by_field_with_a_valid_example(
    command: Command, tmp_path: Path, clock: str, printed: str
) -> None:
    bare, robot = tmp_path / "clock.yaml", tmp_path / "robot.yaml"
    bare.write_text(f"{{{clock}}}")
    robot.write_text(f"{ROBOT.format('a')}  clock: {{{clock}}}\n")
    code, out, err = command("clock", "-f", str(bare))
    assert (code, out) == (1, "")
    assert printed in err
    assert "  clock" in err
    for words in (("clock", "-f", str(robot)), ("apply", "-f", str(robot))):
        code, out, err = command(*words)
        assert (code, out) == (1, "")
        assert printed in err
        assert "  robot_config.clock" in err


@pytest.mark.parametrize("text", ["[1, 2]", "name: x", "daemon"])
def test_a_file_without_a_clock_or_robot_is_refused(command: Command, tmp_path: Path, text: str) -> None:
    path = tmp_path / "clock.yaml"
    path.write_text(text)
    code, _, err = command("clock", "-f", str(path))
    assert code == 1
    assert "expected a robot, or a clock" in err
