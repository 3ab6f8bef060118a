"""Executors are killed while models answer their calls: what is billed stays below each of four ceilings."""

import asyncio
import contextlib
import json
import os
import re
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.stores.mongo import Document, Mongo
from rota_common.testing.bus import short_ack_wait
from rota_common.testing.model_answers import Completion, Usage
from rota_common.testing.openai_server import ModelRequest, openai_server
from rota_common.testing.patience import PATIENCE_S
from rota_common.testing.samples import TEAM, a_robot
from rota_contracts.messages.execution import ExecStatus
from tests.integration.executor.fixtures import ANSWERS
from tests.integration.executor.harness import Harness, kind

PROCESSES, RUNS, ROBOTS = 4, 20, ("ann", "bob")
KILLED_AT = (3, 6, 9, 12, 15)
"""From these requests to the model on, the sender of one is killed before it is answered. What it had reserved for its
other calls is lost, too; the ceilings allow for that."""

OUT, IN_PRICE, OUT_PRICE = 200, 1.0, 10.0
CONNECTOR = f"""label: Scripted
teams: ["*"]
type: openai
options:
  model: scripted
  host: $ENV.MODEL_HOST
  key: $ENV.MODEL_KEY
  max_output: {OUT}
  price: {{input_per_million: {IN_PRICE}, output_per_million: {OUT_PRICE}}}
"""
CEILINGS: dict[str, tuple[float, float]] = {
    "run": (0.02, 14_000),
    "robot": (0.18, 10**9),
    "team": (10**6, 230_000),
}
"""Money and tokens: of a run, of a day of a robot, of a day of the team; all the work together needs more of each."""


class Bill:
    """The model's server: what it has billed to each, whether or not the sender lived to see the answer.

    `turns`: one more for each request, for the next run to be requested. `killed`: ids of processes.
    """

    def __init__(self) -> None:
        self.money, self.tokens = Counter[str](), Counter[str]()
        self.over: list[str] = []
        self.requests = 0
        self.processes: dict[str, Process] = {}
        self.killed: list[int] = []
        self.turns = asyncio.Semaphore(0)
        self.unknown: list[str] = []

    async def __call__(self, asked: ModelRequest) -> Completion:
        self.requests += 1
        tokens_in = len((asked.system + asked.words).encode())  # the dearest tokenizer that there can be
        found = re.search(r"Mark-(ann|bob)-(\d+)", json.dumps(asked.body))
        if found is None:
            self.unknown.append(kind(asked))
        robot, number = (found[1], found[2]) if found else ("?", "?")
        for name in (f"run {number}", f"robot {robot}", "team"):
            self._charge(name, tokens_in)
        self.turns.release()
        self._kill(self.processes[asked.headers["authorization"].removeprefix("Bearer ")])
        return Completion(text=ANSWERS[kind(asked)], usage=Usage(tokens_in, OUT))

    def _charge(self, name: str, tokens_in: int) -> None:
        self.tokens[name] += tokens_in + OUT
        self.money[name] += (tokens_in * IN_PRICE + OUT * OUT_PRICE) / 1_000_000
        money, tokens = CEILINGS[name.split()[0]]
        if self.money[name] > money or self.tokens[name] > tokens:
            self.over.append(f"{name}: {self.money[name]:.4f} USD, {self.tokens[name]} tokens")

    def _kill(self, sender: Process) -> None:
        due = sum(number <= self.requests for number in KILLED_AT) > len(self.killed)
        if due and sender.pid not in self.killed:
            sender.send_signal(signal.SIGKILL)
            self.killed.append(sender.pid)


class Executors:
    """Processes of the executor; one that was killed is replaced."""

    def __init__(self, bill: Bill, environ: Mapping[str, str]) -> None:
        self._bill, self._environ = bill, environ
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> "Executors":
        self._tasks = [asyncio.create_task(self._keep(f"key-{number}")) for number in range(PROCESSES)]
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for process in self._bill.processes.values():
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _keep(self, key: str) -> None:
        while True:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "executor",
                env={**self._environ, "MODEL_KEY": key},
                stdout=DEVNULL,
                stderr=DEVNULL,
            )
            self._bill.processes[key] = process
            await process.wait()


@pytest.fixture
async def mongo(mongo_url: str, mongo_prefix: str) -> AsyncIterator[Mongo]:
    made = Mongo(mongo_url, f"{mongo_prefix}_executor")
    yield made
    await made.close()


def environ(folder: Path, system: Harness, host: str) -> dict[str, str]:
    folder.mkdir()
    (folder / "scripted.yaml").write_text(CONNECTOR)
    money, tokens = CEILINGS["team"]
    file = folder.parent / "ceilings.yaml"
    file.write_text(json.dumps({TEAM: {"day": {"money": money, "tokens": tokens}}}))
    own = {name: value for name, value in os.environ.items() if not name.startswith("ROTA_")}
    urls = {f"ROTA_{name.upper()}": str(value) for name, value in system._urls.items()}
    settings = {"CONNECTOR": "scripted", "CONNECTORS_DIR": str(folder), "CEILINGS_FILE": str(file), "LEASE": "1"}
    settings |= {"SWEEP_INTERVAL": "0.2", "HTTP_HOST": "127.0.0.1", "HTTP_PORT": "0", "ANSWER_PATIENCE": "5"}
    return {**own, **urls, **{f"ROTA_{name}": value for name, value in settings.items()}, "MODEL_HOST": host}


def robot(member: str) -> Any:
    (run, run_tokens), (day, day_tokens) = CEILINGS["run"], CEILINGS["robot"]
    ceilings = {"run": {"money": run, "tokens": run_tokens}, "day": {"money": day, "tokens": day_tokens}}
    agents = {"agents": ["experts.scorer", "experts.writer"]}
    return a_robot(member_id=member, config={"resources": agents, "ceilings": ceilings, "learn": {"on": False}})


def at_rest(document: Document) -> bool:
    """Over, asking for room, or to be tried again later."""
    execution = document["run"]["execution"]
    status = ExecStatus(execution["status"])
    return status.over or status is ExecStatus.WAITING or bool(execution.get("delayed"))


@pytest.mark.soak
async def test_no_bill_exceeds_a_ceiling_though_executors_are_killed_at_their_calls(
    system: Harness, mongo: Mongo, nats: EmbeddedServer, tmp_path: Path
) -> None:  # F12
    bill = Bill()
    await short_ack_wait(nats.url, "executor")
    for member in ROBOTS:
        await system.keep(robot(member))
    async with openai_server(bill) as model, Executors(bill, environ(tmp_path / "connectors", system, model.url)):
        runs = mongo.database["executions"]
        async with asyncio.timeout(20 * PATIENCE_S):  # each process imports for seconds before it works
            for number in range(RUNS):
                member = ROBOTS[number % 2]
                mark = f"Mark-{member}-{number}" + "." * 500  # other runs see neither it nor the padding
                fields = {"padding": "." * 1000, "mark": mark}
                data = {"source": "leads", "event_type": "lead.created", "data": fields}
                await system.request(f"e{number}", member_id=member, input=data)
                await bill.turns.acquire()  # one after another: a process that is killed has few calls under way
            while True:
                found = [document async for document in runs.find({}, {"run.execution": 1})]
                if len(found) == RUNS and all(map(at_rest, found)):
                    break
                await asyncio.sleep(0.5)
        reserved = {each["_id"]: each async for each in mongo.database["budgets"].find({})}
    assert not bill.over
    assert not bill.unknown
    assert len(bill.killed) == len(KILLED_AT)
    stopped = [each for each in found if not ExecStatus(each["run"]["execution"]["status"]).over]
    assert stopped, "the ceilings are too high to show anything"
    assert sum(len(each["open"]) for key, each in reserved.items() if key.startswith("team:")) >= len(KILLED_AT)
    assert reserved[f"team:{TEAM}:USD"]["tokens"] <= CEILINGS["team"][1]
