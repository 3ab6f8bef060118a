"""One executor and two, each limited to so little of the processor that it is what limits the rate."""

from collections.abc import Iterable
from typing import Any

from bench.operations.arithmetic import limit_for
from bench.operations.load import highest
from tests.containers.engine import docker
from tests.containers.harness import World, aside
from tests.containers.project import Project

SERVICE = "executor"


async def replicas(world: World, seconds: float, used: float) -> dict[str, Any]:
    """`used`: the cores that the executor took at the highest rate. Afterwards one runs without a limit again."""
    limit = limit_for(used)
    try:
        await aside(_limited, world.project, limit)
        one = await highest(world, seconds)
        await aside(_scale, world.project, 2, ["--no-recreate"])
        await aside(_limited, world.project, limit)
        two = await highest(world, seconds)
    finally:
        await aside(_scale, world.project, 1, ["--force-recreate"])
    return {"service": SERVICE, "limit": limit, "one": one, "two": two, "ratio": two["rate"] / one["rate"]}


def _limited(project: Project, cpus: float) -> None:
    """Once they are healthy: a start under the limit takes long."""
    ids = [one.id for name, one in project.containers() if name == SERVICE]
    docker("update", "--cpus", str(cpus), *ids)


def _scale(project: Project, number: int, how: Iterable[str]) -> None:
    """The service has no port and no name of its own, and its key is read only: nothing else is to be set."""
    project.compose("up", "--detach", "--no-deps", "--wait", *how, "--scale", f"{SERVICE}={number}", SERVICE)
