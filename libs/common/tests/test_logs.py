"""One line of JSON for one thing that happened."""

import io
import json
import logging

import pytest

from rota_common.runtime import logs

pytestmark = pytest.mark.usefixtures("logging_as_before")


def configured(**given: str | bool) -> io.StringIO:
    out = io.StringIO()
    logs.configure(stream=out, **given)  # type: ignore[arg-type]  # the test's own words
    return out


def test_a_line_is_json_with_all_its_facts() -> None:
    out = configured()
    logs.logger(service="executor", channel="execution.requested").info(
        "handled", outcome="done", seconds=0.1, text="a\nb"
    )
    (line,) = out.getvalue().splitlines()
    facts = json.loads(line)
    assert facts.pop("timestamp").endswith("Z")
    assert facts == {
        "service": "executor",
        "channel": "execution.requested",
        "event": "handled",
        "level": "info",
        "outcome": "done",
        "seconds": 0.1,
        "text": "a\nb",
    }


def test_an_exception_is_in_its_line() -> None:
    out = configured()
    try:
        raise ValueError("broken")
    except ValueError:
        logs.logger(service="x").exception("loop failed", loop="sweep")
    (line,) = out.getvalue().splitlines()
    assert "ValueError: broken" in json.loads(line)["exception"]


@pytest.mark.parametrize(("level", "lines"), [("debug", 3), ("INFO", 2), ("warning", 1), ("nonsense", 2)])
def test_lines_below_the_level_are_dropped(level: str, lines: int) -> None:
    out = configured(level=level)
    log = logs.logger(service="x")
    log.debug("one")
    log.info("two")
    log.warning("three")
    assert len(out.getvalue().splitlines()) == lines


def test_libraries_log_from_warnings_on() -> None:
    out = configured(level="DEBUG")
    logging.getLogger("pymongo").info("chatter")
    logging.getLogger("pymongo").warning("the server is gone")
    assert out.getvalue() == "WARNING pymongo the server is gone\n"


def test_people_get_lines_without_json() -> None:
    out = configured(human=True)
    logs.logger(service="x").info("started")
    assert "started" in out.getvalue()
    assert not out.getvalue().startswith("{")


def test_a_logger_that_wrote_to_a_file_goes_on_when_the_file_is_closed(capsys: pytest.CaptureFixture[str]) -> None:
    log = logs.logger(service="x")
    with io.StringIO() as file, logs.written_to(file):
        log.info("in the file")
        assert "in the file" in file.getvalue()
    log.info("after it")
    assert json.loads(capsys.readouterr().err)["event"] == "after it"
