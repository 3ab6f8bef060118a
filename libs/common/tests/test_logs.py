"""One line of JSON for one thing that happened."""

import asyncio
import io
import json
import logging
import subprocess
import sys
from collections.abc import Iterator

import pytest

from rota_common.runtime import logs
from rota_common.testing.patience import PATIENCE_S

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


@pytest.mark.parametrize(("level", "lines"), [("debug", 3), ("INFO", 2), ("warning", 1)])
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


class FileOfLines(io.StringIO):
    """A stream with a descriptor; counts its writes."""

    writes = 0

    def fileno(self) -> int:
        return 2

    def write(self, text: str, /) -> int:
        self.writes += 1
        return super().write(text)


@pytest.fixture
def file() -> Iterator[FileOfLines]:
    file = FileOfLines()
    with logs.written_to(file):
        yield file


async def test_lines_of_a_file_are_written_together(file: FileOfLines) -> None:
    log = logs.logger(service="x")
    for number in range(3):
        log.info("handled", number=number)
    assert file.writes == 0
    async with asyncio.timeout(PATIENCE_S):
        while not file.writes:
            await asyncio.sleep(0.005)
    assert file.writes == 1
    assert [json.loads(line)["number"] for line in file.getvalue().splitlines()] == [0, 1, 2]


async def test_an_error_is_written_at_once_after_what_came_before_it(file: FileOfLines) -> None:
    logs.logger(service="x").info("first")
    logs.logger(service="x").error("failed")
    assert [json.loads(line)["event"] for line in file.getvalue().splitlines()] == ["first", "failed"]


async def test_lines_of_threads_and_libraries_keep_the_order(file: FileOfLines) -> None:
    log = logs.logger(service="x")
    log.info("first")
    await asyncio.to_thread(log.info, "second")
    log.info("third")
    logging.getLogger("pymongo").warning("fourth")
    first, second, third, fourth = file.getvalue().splitlines()
    assert [json.loads(line)["event"] for line in (first, second, third)] == ["first", "second", "third"]
    assert fourth == "WARNING pymongo fourth"


async def test_what_waits_is_written_before_the_stream_changes(file: FileOfLines) -> None:
    logs.logger(service="x").info("first")
    with logs.written_to(io.StringIO()):
        assert json.loads(file.getvalue())["event"] == "first"


def test_what_waits_is_written_at_exit() -> None:
    program = """
import asyncio
from rota_common.runtime import logs
async def main():
    logs.configure()
    logs.logger(service="x").info("the last line")
asyncio.run(main())
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(ended.stderr)["event"] == "the last line"
