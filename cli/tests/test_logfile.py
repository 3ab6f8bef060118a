"""The log goes into the file; only warnings come to the terminal."""

from pathlib import Path

from rota.logfile import LogFile


def test_everything_is_in_the_file_and_warnings_are_told_in_words(tmp_path: Path) -> None:
    told: list[str] = []
    with LogFile(tmp_path / "rota.log", tell=told.append) as log:
        log.write('{"level": "info", "event": "started"}' + "\n")
        log.write('{"level": "warning", "service": "memory", "event": "loop waits", "reason": "no mongo"}' + "\n")
        log.write("ERROR uvicorn.error it broke" + "\n")
        log.write("Traceback (most recent call last):" + "\n")
    assert told == ["warning memory loop waits no mongo", "ERROR uvicorn.error it broke"]
    assert len((tmp_path / "rota.log").read_text().splitlines()) == 4
