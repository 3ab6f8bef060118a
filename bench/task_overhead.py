"""The overhead of a task on top of its work: runs of 1, 4, 16 and 64 tasks in standard mode, everything saved."""

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import linear_regression, median
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from rota_common.runtime import embedded_http
from rota_contracts.messages.execution import Execution
from rota_contracts.robots.robot import Phase

SIZES = (1, 4, 16, 64)
SOURCE = "work"
ROBOT = {
    "member_id": "worker",
    "robot_config": {
        "identity": {"role": "Worker"},
        "resources": {"agents": ["worker"], "phases": {"tasks": "bench.planner"}},
        "events": [{"type": "webhook", "source": SOURCE}],
        "learn": {"on": False},
    },
}
Run = Callable[[dict[str, Any]], Awaitable[Execution]]


class Planner:
    """The model of the planner, over HTTP: it plans as many tasks as the event asks for, calls of the process that it
    names, if any. Rehearsal answers all other calls inside the executor, at once: what is left is the cost of the
    journal."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._stop = folder, asyncio.Event()
        self._listener = socket.socket()
        self._listener.bind(("127.0.0.1", 0))

    def settings(self) -> dict[str, str]:
        """Environment variables for the executor."""
        host = f"http://127.0.0.1:{self._listener.getsockname()[1]}/"
        agents, connectors = self._folder / "agents", self._folder / "connectors"
        agents.mkdir(parents=True)
        connectors.mkdir()
        (agents / "bench.planner.md").write_text("---\nteams: '*'\nconnector: planner\n---\nPlan.\n")
        (connectors / "planner.yaml").write_text(
            f"label: Planner\nteams: '*'\ntype: rehearsal\noptions: {{host: '{host}'}}\n"
        )
        return {"ROTA_AGENTS_DIR": str(agents), "ROTA_CONNECTORS_DIR": str(connectors)}

    async def serve(self) -> None:
        """Until it is cancelled."""
        app = Starlette(routes=[Route("/", _plan, methods=["POST"])])
        async with embedded_http.serve(app, self._listener, lifespan="off", close_timeout=1):
            await self._stop.wait()


async def _plan(request: Request) -> Response:
    data = (await request.json())["facts"]["data"]
    return JSONResponse({"text": json.dumps({"tasks": [_task(n, data.get("process")) for n in range(data["tasks"])]})})


def _task(number: int, process: str | None) -> dict[str, Any]:
    """A call of the process, if the event names one, else the worker's."""
    if process is not None:
        return {
            "description": f"Step {number}",
            "executor_type": "process",
            "executor_id": process,
            "args": [number],
        }
    return {
        "description": f"Task {number}",
        "executor_id": "worker",
        "validation_rules": [{"type": "json_path", "path": "status", "value": "done"}],
    }


async def overhead(run: Run, rounds: int) -> dict[str, Any]:
    """A row: the slope in ms for each further task, and the median of P3 in ms by the number of tasks."""
    seen: dict[int, list[float]] = {size: [] for size in SIZES}
    for _ in range(rounds):
        for size in SIZES:
            seen[size].append(run_phase_ms(await run({"tasks": size})))
    medians = {size: median(values) for size, values in seen.items()}
    slope, intercept = linear_regression(list(medians), list(medians.values()))
    per_task = {size: round(value / size, 2) for size, value in medians.items()}
    row: dict[str, Any] = {"name": "overhead_per_task", "value": round(slope, 2), "unit": "ms"}
    return row | {"intercept": round(intercept, 2), "per_task_by_tasks": per_task}


def run_phase_ms(execution: Execution) -> float:
    if execution.status != "completed":
        raise RuntimeError(f"expected a run that completes, got {execution.status}: {execution.error}")
    (spent,) = [phase for phase in execution.phases if phase.phase is Phase.RUN]
    if spent.finished_at is None:
        raise RuntimeError("the run phase has no end")
    return (spent.finished_at - spent.started_at).total_seconds() * 1000
