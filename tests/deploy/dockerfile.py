"""Carries out a Dockerfile without a container engine: each stage is a folder with a Python environment of its own."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

WORKDIR = "/app"
NEEDS_AN_ENGINE = ("useradd",)
"""What a RUN line may begin with that only makes sense inside an image."""


WITHOUT_EFFECT_HERE = ("RUN", "USER", "EXPOSE", "WORKDIR")


@dataclass
class Stage:
    """`folder` stands for the image's working folder, `base` for the Python that its base image brings."""

    folder: Path
    base: Path
    env: dict[str, str]
    command: list[str] = field(default_factory=list)
    health: str = ""

    def run(self, command: str) -> None:
        done = subprocess.run(
            ["bash", "-c", command], cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=300
        )
        if done.returncode:
            raise AssertionError(f"RUN {command}\nended with code {done.returncode}:\n{done.stdout}{done.stderr}")


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Name and arguments of each instruction, continued lines joined."""
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    for line in re.sub(r"\\\n\s*", " ", lines).splitlines():
        if line.strip():
            name, _, arguments = line.strip().partition(" ")
            yield name.upper(), arguments.strip()


def build(dockerfile: Path, *, context: Path, folder: Path, args: dict[str, str]) -> Stage:
    """The last stage, after all instructions have been carried out in `folder`."""
    stages: dict[str, Stage] = {}
    stage: Stage | None = None
    for name, arguments in instructions(dockerfile.read_text()):
        if name == "FROM":
            called = arguments.partition(" AS ")[2] or "final"
            stage = stages[called] = _begin(folder / called)
        elif stage is None:
            raise AssertionError(f"expected FROM first, got {name}")
        else:
            _carry_out(stage, name, arguments, stages=stages, context=context, args=args)
    if stage is None:
        raise AssertionError(f"{dockerfile.name} has no FROM")
    return stage


def _begin(folder: Path) -> Stage:
    base, app = folder / "base", folder / "app"
    app.mkdir(parents=True)
    uv = Path(sys.executable).with_name("uv")
    subprocess.run([uv, "venv", "--quiet", "--seed", "--python", sys.executable, base], check=True)
    kept = ("HOME", "LANG", "UV_", "PIP_", "SSL_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
    env = {key: value for key, value in os.environ.items() if key.upper().startswith(kept)}
    return Stage(app, base, {**env, "PATH": f"{base / 'bin'}:/usr/bin:/bin"})


def _carry_out(
    stage: Stage, name: str, arguments: str, *, stages: dict[str, Stage], context: Path, args: dict[str, str]
) -> None:
    match name:
        case "ARG":
            stage.env[arguments] = args[arguments]
        case "COPY":
            _copy(stage, arguments, stages=stages, context=context)
        case "RUN" if not arguments.startswith(NEEDS_AN_ENGINE):
            stage.run(arguments)
        case "ENV":
            _set(stage, arguments)
        case "HEALTHCHECK":
            stage.health = arguments.partition("CMD ")[2]
        case "CMD":
            stage.command = json.loads(arguments)
        case _ if name not in WITHOUT_EFFECT_HERE:
            raise AssertionError(f"this test doesn't know the instruction {name}: teach it")


def _set(stage: Stage, assignments: str) -> None:
    for assignment in assignments.split():
        key, _, value = assignment.partition("=")
        stage.env[key] = value.replace(WORKDIR, str(stage.folder)).replace("$PATH", stage.env["PATH"])


def _copy(stage: Stage, arguments: str, *, stages: dict[str, Stage], context: Path) -> None:
    *sources, target = [re.sub(r"\$\{(\w+)\}", lambda found: stage.env[found[1]], word) for word in arguments.split()]
    root = context
    if sources[0].startswith("--from="):
        root = stages[sources.pop(0).removeprefix("--from=")].folder
    for source in sources:
        origin = root / source.removeprefix(f"{WORKDIR}/")
        if origin.is_dir():
            ignored = shutil.ignore_patterns("tests", "__pycache__") if root == context else None
            shutil.copytree(origin, stage.folder / target, symlinks=True, ignore=ignored)
        else:
            folder = stage.folder / target
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copy(origin, folder)
