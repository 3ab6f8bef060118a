"""Tables: lines for a program, and whole ids in a terminal."""

import io
from collections.abc import Callable

import pytest

from rota import output

ID = "0c6f2f0e-9a51-5d0c-8a31-6f0b7c1d2e3f"
OTHER = "b7a1d1c2-4f7e-5b6a-9c8d-7e6f5a4b3c2d"
URL = f"https://receiver.example/hooks/{'a' * 300}"
WORDS = "a reason of many words that goes on and on"


@pytest.fixture
def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """The lines of a table in a terminal of some width."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    def lines(width: int, columns: tuple[str, ...], *rows: tuple[object, ...]) -> list[str]:
        screen = Terminal()
        monkeypatch.setattr("sys.stdout", screen)
        for name, value in (("COLUMNS", str(width)), ("NO_COLOR", "1"), ("TERM", "dumb")):
            monkeypatch.setenv(name, value)
        output.table(columns, rows)
        return screen.getvalue().splitlines()

    return lines


def test_a_program_gets_each_row_as_one_whole_line(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [(ID, URL, f"{WORDS}\n{WORDS}", 1), ("中文", "-", None, 12)]
    output.table(("ID", "URL", "REASON", "N"), rows)
    head, first, second = capsys.readouterr().out.splitlines()
    assert first.split()[:2] == [ID, URL]
    assert first.endswith(f"{WORDS} {WORDS}  1")
    assert second.split() == ["中文", "-", "12"]
    assert head.index("URL") == first.index(URL) == second.index("-") + 2  # two characters that are twice as wide


def test_in_a_terminal_texts_wrap_and_ids_do_not(on_terminal: Callable[..., list[str]]) -> None:
    lines = on_terminal(80, ("ID", "REASON"), (ID, f"{WORDS}: {URL}"))
    assert sum(ID in line for line in lines) == 1
    assert len(lines) > 3
    assert max(map(len, lines)) <= 80


def test_ids_that_do_not_fit_beside_each_other_are_below_each_other(on_terminal: Callable[..., list[str]]) -> None:
    lines = on_terminal(80, ("ID", "EXECUTION", "STATUS"), (ID, OTHER, "held"), (OTHER, ID, "held"))
    assert [line.split() for line in lines[:4]] == [["ID", ID], ["EXECUTION", OTHER], ["STATUS", "held"], []]
