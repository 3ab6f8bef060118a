"""The scripts of deploy/k8s/components/backup, run by a shell: what needs no server of its own."""

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from rota.server.http import listening, serving
from tests.deploy.manifests import K8S

SCRIPTS = K8S / "components" / "backup"
PARTS = ("mongodb.archive.gz", "qdrant", "streams/TRIGGERS")
KEEP = 3


def run(script: str, folder: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    given = os.environ | {"BACKUPS": str(folder), "KEEP": str(KEEP), "PARTS": PARTS[-1]} | environ
    return subprocess.run(["sh", SCRIPTS / script], env=given, capture_output=True, text=True, timeout=60)


def unfinished(folder: Path, *parts: str) -> None:
    """What the steps before have left."""
    assert run("begin.sh", folder).returncode == 0
    for part in parts:
        file = folder / "unfinished" / part / "some"
        file.parent.mkdir(parents=True)
        file.write_text("content")


@pytest.mark.parametrize("script", sorted(SCRIPTS.glob("*.sh")), ids=lambda path: path.name)
def test_a_shell_reads_every_script_and_stops_at_the_first_error(script: Path) -> None:
    assert subprocess.run(["sh", "-n", script]).returncode == 0
    assert "\nset -eu\n" in script.read_text()


def test_the_newest_backups_are_kept(tmp_path: Path) -> None:
    old = [f"2026-01-0{day}T000000Z" for day in (1, 2, 3, 4)]
    for name in old:
        (tmp_path / name / "some").mkdir(parents=True)
    (tmp_path / "lost+found").mkdir()
    unfinished(tmp_path, *PARTS)
    done = run("keep.sh", tmp_path)
    assert done.returncode == 0, done.stderr
    left = sorted(path.name for path in tmp_path.iterdir())
    assert (len(left), left[:2], left[-1]) == (KEEP + 1, old[2:], "lost+found")
    assert (tmp_path / left[2] / PARTS[0]).exists()


@pytest.mark.parametrize("missing", PARTS)
def test_a_backup_that_lacks_a_part_fails_and_leaves_those_of_before(tmp_path: Path, missing: str) -> None:
    (tmp_path / "2026-01-01T000000Z").mkdir()
    unfinished(tmp_path, *(part for part in PARTS if part != missing))
    done = run("keep.sh", tmp_path)
    assert (done.returncode, missing in done.stderr) == (1, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2026-01-01T000000Z", "unfinished"]


class Qdrant:
    """Answers as Qdrant's API does, to who shows the key."""

    def __init__(self) -> None:
        self.collections = {"lessons": b"all lessons", "shared": b"all that is shared"}
        self.snapshots: dict[str, bytes] = {}
        self.restored: dict[str, bytes] = {}

    async def answer(self, request: Request) -> Response:
        if request.headers.get("api-key") != "the key":
            return Response(status_code=403)
        match [request.method, *request.url.path.strip("/").split("/")]:
            case ["GET", "collections"]:
                found = [{"name": name} for name in self.collections]
                return JSONResponse({"result": {"collections": found}, "status": "ok", "time": 0.1})
            case ["POST", "collections", name, "snapshots"]:
                made = f"{name}-1.snapshot"
                self.snapshots[made] = self.collections[name]
                return JSONResponse({"result": {"name": made, "creation_time": None, "size": 7}, "status": "ok"})
            case ["GET", "collections", _, "snapshots", made]:
                return Response(self.snapshots[made])
            case ["DELETE", "collections", _, "snapshots", made]:
                del self.snapshots[made]
                return JSONResponse({"result": True})
            case ["POST", "collections", name, "snapshots", "upload"]:
                async with request.form() as form:
                    file = form["snapshot"]
                    assert not isinstance(file, str)
                    self.restored[name] = await file.read()
                return JSONResponse({"result": True})
        return Response(status_code=404)


@pytest.fixture
async def qdrant() -> AsyncIterator[tuple[Qdrant, str]]:
    made = Qdrant()
    app = Starlette(routes=[Route("/{path:path}", made.answer, methods=["GET", "POST", "DELETE"])])
    async with serving(app, listening(0)) as url:
        yield made, url


async def test_each_collection_of_qdrant_is_saved_and_comes_back(tmp_path: Path, qdrant: tuple[Qdrant, str]) -> None:
    server, url = qdrant

    async def done(script: str, key: str) -> int:
        given = {"QDRANT_API_KEY": key, "ROTA_QDRANT_URL": url, "TMPDIR": str(tmp_path)}
        process = await asyncio.create_subprocess_exec(
            "sh", SCRIPTS / script, env=os.environ | given | {"BACKUPS": str(tmp_path)}
        )
        return await process.wait()

    unfinished(tmp_path)
    assert await done("qdrant.sh", "another key") != 0
    assert await done("qdrant.sh", "the key") == 0
    assert server.snapshots == {}, "the server keeps none"
    (tmp_path / "unfinished").rename(tmp_path / "2026-01-01T000000Z")
    assert await done("restore-qdrant.sh", "the key") == 0
    assert server.restored == server.collections
