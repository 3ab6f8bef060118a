"""The bytes that the stores hold."""

import json
from typing import Any

import httpx

from tests.containers.harness import aside
from tests.containers.project import Project

DATABASES = """
db.adminCommand({fsync: 1});
const sizes = {};
for (const {name} of db.adminCommand({listDatabases: 1}).databases.filter(one => one.name.startsWith("rota_"))) {
  const stats = db.getSiblingDB(name).stats();
  sizes[name] = {
    data: Number(stats.dataSize), stored: Number(stats.storageSize), indexes: Number(stats.indexSize),
    documents: Number(stats.objects),
  };
}
print(JSON.stringify(sizes));
"""
POINTS = "/qdrant/storage"


async def sizes(project: Project) -> dict[str, Any]:
    """Of each database, of each stream, and of Qdrant's folder."""
    return {
        "mongo": await aside(_databases, project),
        "nats": await _streams(project),
        "qdrant": {"folder": await aside(_folder, project)},
    }


def _databases(project: Project) -> dict[str, dict[str, int]]:
    shown = project.compose("exec", "--no-TTY", "mongo", "mongosh", "--quiet", "--eval", DATABASES)
    found: dict[str, dict[str, int]] = json.loads(shown.splitlines()[-1])
    return found


async def _streams(project: Project) -> dict[str, int]:
    found = dict[str, int]()
    for account in (await monitored(project, "jsz?accounts=true&streams=true"))["account_details"]:
        for stream in account.get("stream_detail", []):
            found[stream["name"]] = found.get(stream["name"], 0) + int(stream["state"]["bytes"])
    return found


def _folder(project: Project) -> int:
    return int(project.compose("exec", "--no-TTY", "qdrant", "du", "-s", "--block-size=1", POINTS).split()[0])


async def monitored(project: Project, page: str) -> Any:
    """What NATS's monitoring says."""
    async with httpx.AsyncClient(trust_env=False) as client:
        url = f"http://127.0.0.1:{project.ports['ROTA_NATS_MONITOR_PORT']}/{page}"
        return (await client.get(url)).raise_for_status().json()
