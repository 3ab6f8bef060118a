"""What tests of commands share."""

from collections.abc import Callable

import pytest

from rota.main import main


@pytest.fixture
def command(gateway: object, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Exit code, output and errors of a command; the test's own `gateway` answers it."""

    def run(*words: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            main(list(words))
        told = capsys.readouterr()
        return int(caught.value.code or 0), told.out, told.err

    return run
