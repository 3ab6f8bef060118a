"""The releases that `releases.toml` names, and the packages of one of them, built from its commit."""

import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PINNED = "requirements/all.txt"
UV = (sys.executable, "-m", "uv")


@dataclass(frozen=True)
class Release:
    version: str
    commit: str

    @property
    def reachable(self) -> bool:
        """Not in a clone without history."""
        asked = ["git", "cat-file", "-e", f"{self.commit}^{{commit}}"]
        return subprocess.run(asked, cwd=ROOT, capture_output=True, check=False).returncode == 0

    def install(self, folder: Path) -> Path:
        """Its packages in a folder that goes before all others on the path (PYTHONPATH), with what they require if that
        differs from this tree's."""
        wheels, installed = folder / "wheels", folder / "installed"
        install = (*UV, "pip", "install", "--quiet", "--python", sys.executable, "--target", str(installed))
        if self._read(PINNED) != (ROOT / PINNED).read_bytes():
            pinned = folder / "requirements.txt"
            pinned.write_bytes(self._read(PINNED))
            _run(*install, "--require-hashes", "-r", str(pinned))
        _run("make", "--silent", "release", f"COMMIT={self.commit}", f"DIST={wheels}")
        _run(*install, "--no-deps", *map(str, wheels.glob("*.whl")))
        return installed

    def _read(self, path: str) -> bytes:
        shown = subprocess.run(["git", "show", f"{self.commit}:{path}"], cwd=ROOT, capture_output=True, check=True)
        return shown.stdout


def releases() -> list[Release]:
    """The newest last."""
    return [Release(**each) for each in tomllib.loads((ROOT / "releases.toml").read_text())["release"]]


def _run(*command: str) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode:
        raise RuntimeError(f"expected {command[:4]} to succeed, got {done.returncode}: {done.stderr[-2000:]}")
