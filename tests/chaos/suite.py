"""The suite: starts all processes, posts leads, kills services, and counts the outcome."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from time import monotonic

from nats.aio.client import Client

from rota_common.testing.team_secrets import secrets_folder
from tests.chaos import report
from tests.chaos.bus_listener import BusListener, connect
from tests.chaos.controller import Controller, Pace
from tests.chaos.external_systems.mailbox import mailbox
from tests.chaos.external_systems.model import model
from tests.chaos.external_systems.processes import TeamProcesses
from tests.chaos.external_systems.receiver import receiver
from tests.chaos.external_systems.tools import tools
from tests.chaos.fault_points import CLOCKS, KILLS, POISON, points_of
from tests.chaos.owner import Owner
from tests.chaos.poison import Poison
from tests.chaos.robots import SERVER, TEAM
from tests.chaos.scoreboard import Scoreboard
from tests.chaos.sender import Demand, Sender
from tests.chaos.stuck import stuck
from tests.chaos.system import SKEW_S, System
from tests.chaos.trap import Traps
from tests.chaos.witness import Witness

STUCK_S = 300.0
"""Without an end for so long, the run is stuck."""

SETTLE_S = 120.0
"""How long a target that was missed at the first attempt may take: the delivery-center's first two retries."""

ECHO_S = 17.0
"""After the last kill: by then the messages of a dead worker are delivered again (`ack_wait` is 5 s)."""

LONGEST_POINT_S = 60.0
"""Posting ends after so long for each fault point, on average: then some can't be hit."""

FEW = 3
PROGRESS_S = 10.0
SHOWN_MISSING = 3
SHORT_ACCEPTED = 100
CONNECTOR = "label: The model of the chaos suite\nteams: '*'\ntype: rehearsal\noptions:\n  host: {url}\n"


@dataclass(frozen=True)
class Options:
    """`seconds`: the short form, which stops posting then; None: `executions`, and every fault point of the `kinds`."""

    executions: int
    seconds: float | None
    seed: int
    in_flight: int
    kinds: frozenset[str] = frozenset({KILLS})

    @property
    def pace(self) -> Pace:
        if self.seconds is not None:
            return Pace(patience=4, recovery=0, pause=(0.2, 0.8), rush=1.0, services_first=True)
        return Pace(patience=20, recovery=60, pause=(0.3, 1.5), rush=0.25, services_first=False)


class Suite:
    def __init__(self, folder: Path, options: Options) -> None:
        self._options, self._folder = options, folder
        self._points = points_of(options.kinds)
        self._poison = Poison(Random(f"{options.seed} poison"))
        self.scoreboard, self.witness = Scoreboard(), Witness()
        self._traps = Traps()
        self._system = System(folder, options.kinds)
        self._owner = Owner(lambda: self._system.gateway, self.scoreboard)
        self._listener = BusListener(self.scoreboard, self.witness, self._traps, self._owner)
        self._began = monotonic()

    async def run(self) -> bool:
        """Print the report, the figures last. True if the run is good."""
        async with self._running() as (sender, self._controller):
            print("all processes run; the posting begins")
            self._began = self.scoreboard.last_end = monotonic()
            working = asyncio.create_task(self._work(sender))
            try:
                while not (await asyncio.wait((working,), timeout=PROGRESS_S))[0]:
                    self._print_progress()
                    if monotonic() - self.scoreboard.last_end > STUCK_S:
                        await self._print_stuck()
                        working.cancel()
                        break
                else:
                    working.result()
            finally:
                working.cancel()
                await asyncio.gather(working, return_exceptions=True)
            return self._print_report()

    async def _work(self, sender: Sender) -> None:
        async with asyncio.TaskGroup() as group:
            posting = group.create_task(sender.run(self._options.in_flight))
            group.create_task(self._controller.run(lambda: not posting.done() and self._more()))
        await asyncio.sleep(max(0.0, self._controller.last_at + ECHO_S - monotonic()))
        deadline = monotonic() + SETTLE_S
        while self._unsettled() and monotonic() < deadline:
            await asyncio.sleep(0.5)

    def _unsettled(self) -> bool:
        return bool(report.undelivered(self.scoreboard, self.witness) or self._poison.due - self._listener.poison)

    def _more(self) -> bool:
        """Is another execution, another kill wanted? The fault points that must be hit may take up to twice as long."""
        options, counts = self._options, self.scoreboard.counts()
        if options.seconds is not None:
            took = monotonic() - self._began
            enough = counts["accepted"] >= SHORT_ACCEPTED and not self._controller.never_killed
            return took < options.seconds or (not enough and took < 2 * options.seconds)
        enough = counts["posted"] >= options.executions and not self._controller.missing
        return not enough and monotonic() - self._began < LONGEST_POINT_S * max(10, len(self._points))

    def _now(self) -> bool:
        """The executions are spread over the fault points; a few always run, or none would reach the step of a trap."""
        done = len(self._points) - len(self._controller.missing)
        due = self._options.executions * (done + 1) / max(1, len(self._points))
        few = len(self.scoreboard.in_flight()) < FEW
        return few or self._options.seconds is not None or len(self.scoreboard.entries) < due

    @asynccontextmanager
    async def _running(self) -> AsyncIterator[tuple[Sender, Controller]]:
        """The external systems first: they start before the services and end after them."""
        external = ("model", "tools", "processes", "hooks", "kills")
        chance = {name: Random(f"{self._options.seed} {name}") for name in external}
        incoming, outgoing = (_secret(Random(f"{self._options.seed} {name}")) for name in ("in", "out"))
        async with AsyncExitStack() as ends:
            model_url = await ends.enter_async_context(model(self.witness, self._traps, chance["model"]))
            tools_url = await ends.enter_async_context(tools(self.witness, self._traps, chance["tools"]))
            smtp_url = await ends.enter_async_context(mailbox(self.witness, self._traps))
            hooks = receiver(self.witness, self._traps, chance["hooks"], secret=outgoing)
            hooks_url = await ends.enter_async_context(hooks)
            ends.push_async_callback(self._system.stop)
            await self._system.start_servers()
            client = await connect(self._system.nats_url)
            ends.push_async_callback(client.close)
            await TeamProcesses(self.witness, self._traps, chance["processes"]).start(client)
            ends.push_async_callback(self._owner.close)
            ends.push_async_callback(self._listener.close)
            await self._listen(client)
            settings = self._settings(model_url, tools_url) | {
                "ROTA_SMTP_URL": smtp_url,
                "ROTA_MAIL_SENDERS": '{"*": ["chaos.example"]}',
                **secrets_folder(self._system.folder, TEAM, CHAOS_IN_SECRET=incoming, CHAOS_OUT_SECRET=outgoing),
            }
            await self._system.start(settings, receiver=hooks_url)
            demand = Demand(self._more, self._now)
            sender = Sender(self._system.gateway, incoming, self.scoreboard, self._traps, demand)
            yield (
                sender,
                Controller(
                    self._system,
                    sender,
                    self.scoreboard,
                    self._traps,
                    points=self._points,
                    pace=self._options.pace,
                    in_flight=self._options.in_flight,
                    random=chance["kills"],
                ),
            )

    async def _listen(self, client: Client) -> None:
        await self._listener.open(client)
        if POISON in self._options.kinds:
            await self._poison.open(client)

    def _settings(self, model_url: str, tools_url: str) -> dict[str, str]:
        """The connector and the MCP server are files, as an operator would write them."""
        connectors, servers = self._folder / "connectors", self._folder / "mcp"
        for folder in (connectors, servers):
            folder.mkdir()
        (connectors / "chaos.yaml").write_text(CONNECTOR.format(url=model_url))
        (servers / f"{SERVER}.yaml").write_text(f"label: The ledger\nteams: '*'\ntransport: http\nurl: {tools_url}\n")
        return {
            "ROTA_CONNECTOR": "chaos",
            "ROTA_CONNECTORS_DIR": str(connectors),
            "ROTA_MCP_DIR": str(servers),
        }

    def _print_progress(self) -> None:
        counts, took = self.scoreboard.counts(), monotonic() - self._began
        missing = self._controller.missing
        names = f": {', '.join(point.name for point in missing)}" if 0 < len(missing) <= SHOWN_MISSING else ""
        print(
            f"{took:5.0f} s: {counts['posted']} posted, {counts['accepted']} accepted, {counts['ended']} ended, "
            f"{len(self._controller.kills)} kills ({len(missing)} fault points to go{names})",
            flush=True,
        )

    async def _print_stuck(self) -> None:
        print(f"nothing has ended for {STUCK_S:g} s")
        async for line in stuck(self._system, self.scoreboard.in_flight()):
            print(line)

    def _print_report(self) -> bool:
        kills, controller = self._controller.kills, self._controller
        print()
        for line in report.table(self.scoreboard, kills, self._points):
            print(line)
        print("the slowest recoveries:")
        for line in report.slowest(self.scoreboard, kills):
            print(line)
        print()
        listener = self._listener
        for line in report.findings(self.scoreboard, self.witness, rejected=listener.rejected, buried=listener.buried):
            print(line)
        found = report.figures(self.scoreboard, self.witness, kills) | {
            "clock_skew_s": SKEW_S if CLOCKS in self._options.kinds else 0,
            "poison": sum(self._poison.sent.values()),
            "poison_not_buried": len(self._poison.due - listener.poison),
        }
        short = self._options.seconds is not None
        unhit = sorted(controller.never_killed) if short else [point.name for point in controller.missing]
        if unhit:
            print(f"never killed: {', '.join(unhit)}")
        print(json.dumps(found), flush=True)
        least = SHORT_ACCEPTED if short else min(self._options.executions, 1000)
        return not unhit and found["accepted"] >= least and not any(found[name] for name in report.ZERO)


def _secret(random: Random) -> str:
    return f"whsec_{base64.b64encode(random.randbytes(24)).decode()}"
