"""The machine and the versions of what runs on it."""

import json
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from bench.operations.storage import monitored
from rota_contracts.version import VERSION
from tests.containers.engine import ROOT, docker, image_of
from tests.containers.harness import aside
from tests.containers.project import Project

MONGO_VERSION = "print(db.version())"
QDRANT_ROOT = "exec 3<>/dev/tcp/127.0.0.1/6333 && printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3 && cat <&3"
STAND_IN = "a stand-in with Qdrant's interface, whose figures are its own"


def machine() -> dict[str, Any]:
    engine = json.loads(docker("version", "--format", "{{json .Server}}"))
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "cores": os.cpu_count(),
        "processor": _processor(),
        "memory_gib": pages / 1024**3,
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "engine": f"{engine['Platform']['Name'] or 'Docker'} {engine['Version']}",
        "rota": VERSION,
        "commit": _commit(),
    }


async def servers(project: Project) -> dict[str, str]:
    """Server → the version that answers."""
    shown = await aside(project.compose, "exec", "--no-TTY", "mongo", "mongosh", "--quiet", "--eval", MONGO_VERSION)
    root = await aside(project.compose, "exec", "--no-TTY", "qdrant", "bash", "-c", QDRANT_ROOT)
    return {
        "NATS": (await monitored(project, "varz"))["version"],
        "MongoDB": shown.splitlines()[-1],
        "Qdrant": _qdrant(root),
    }


def _qdrant(answer: str) -> str:
    """The images of some machines aren't Qdrant's."""
    body = answer.partition("\r\n\r\n")[2] or answer.partition("\n\n")[2]
    try:
        return str(json.loads(body)["version"])
    except (ValueError, KeyError):
        return f"{STAND_IN} ({image_of('qdrant')} doesn't say its version)"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _commit() -> str:
    """With a plus where the tree differs from it."""
    asked = ("git", "describe", "--always", "--abbrev=8", "--dirty=+", "--exclude=*")
    return subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip() or "unknown"
