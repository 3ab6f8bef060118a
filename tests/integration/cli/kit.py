"""Runs `rota` as people use it: as a program of its own, with a home folder of its own."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[3] / "examples"
TIMEOUT_S = 60


def processes_of(folder: Path) -> list[str]:
    """The command lines of all processes that name the folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it has ended meanwhile
            continue
        if str(folder) in command:
            found.append(command)
    return found


@dataclass
class Rota:
    """Runs commands. Everything they write lies in `home`."""

    home: Path
    variables: dict[str, str] = field(default_factory=dict)

    def environ(self) -> dict[str, str]:
        ours = {name: value for name, value in os.environ.items() if not name.startswith(("ROTA_", "OPENAI_"))}
        path = os.pathsep.join(part for part in sys.path if part)
        return ours | {"HOME": str(self.home), "PYTHONPATH": path, "XDG_CONFIG_HOME": str(self.home)} | self.variables

    def start(self, *words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "rota.main", *words]
        return subprocess.Popen(
            command, env=self.environ(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.home
        )

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        process = self.start(*words)
        out, err = process.communicate(timeout=TIMEOUT_S)
        assert "Traceback" not in err, err
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def json(self, *words: str) -> list[dict[str, Any]]:
        """What a command that works prints with --json, line by line."""
        done = self.run(*words, "--json")
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]


@dataclass
class Up:
    """A running `rota up --json`, and what it said of itself when it was ready."""

    process: subprocess.Popen[str]
    data: Path
    ready: dict[str, Any]

    def end(self, how: int) -> tuple[int, str]:
        """Send a signal and wait; the exit code, and what it still said."""
        self.process.send_signal(how)
        out, err = self.process.communicate(timeout=TIMEOUT_S)
        assert "Traceback" not in err, err
        return self.process.returncode, out


def start_up(rota: Rota, data: Path, *words: str) -> Up:
    process = rota.start("up", "--json", "--port", "0", "--data", str(data), *words)
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(json.loads(line))
        if said[-1]["state"] == "ready":
            return Up(process, data, said[-1])
    _, err = process.communicate(timeout=TIMEOUT_S)
    raise AssertionError(f"rota up ended: {said} {err}")
