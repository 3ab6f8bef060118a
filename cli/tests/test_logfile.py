"""The log file has every line, the terminal only warnings."""

from pathlib import Path

from rota.server.logfile import LogFile, failure_reasons


def test_every_line_is_in_the_file_and_warnings_are_printed(tmp_path: Path) -> None:
    warnings: list[str] = []
    with LogFile(tmp_path / "rota.log", on_warning=warnings.append) as log:
        log.write('{"level": "info", "event": "started"}' + "\n")
        log.write('{"level": "warning", "service": "memory", "event": "loop waits", "reason": "no mongo"}' + "\n")
        log.write("ERROR uvicorn.error it broke" + "\n")
        log.write("Traceback (most recent call last):" + "\n")
    assert warnings == ["warning memory loop waits no mongo", "ERROR uvicorn.error it broke"]
    assert len((tmp_path / "rota.log").read_text().splitlines()) == 4


def test_a_buried_message_is_a_warning(tmp_path: Path) -> None:
    warnings: list[str] = []
    with LogFile(tmp_path / "rota.log", on_warning=warnings.append) as log:
        log.write('{"level": "info", "event": "handled", "outcome": "later", "reason": "no mail server"}' + "\n")
        log.write('{"level": "info", "event": "handled", "outcome": "buried", "reason": "not JSON"}' + "\n")
    assert warnings == ["info handled buried not JSON"]


def test_each_reason_is_returned_once_and_the_newest_last(tmp_path: Path) -> None:
    path = tmp_path / "rota.log"
    reasons = ["one", "two", "three", "one"]
    lines = [f'{{"service": "executor", "channel": "delivery.accepted", "reason": "{reason}"}}' for reason in reasons]
    path.write_text("\n".join(["WARNING not json", '{"event": "started"}', *lines]))
    assert failure_reasons(path, limit=2) == ["executor delivery.accepted: three", "executor delivery.accepted: one"]
