"""`make operations-figures`: the figures that an operator plans by, written to docs/operations-figures.md.

It starts the system of docker-compose.yml under a name and ports of its own, with robots whose model is the rehearsal
connector, measures part after part and removes all of it. After each, dist/operations-figures.json has the raw figures.
"""

import argparse
import asyncio
import signal
import sys
import tempfile
import time
from collections.abc import Awaitable
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.operations.kept import Kept
from bench.operations.machine import machine, servers
from bench.operations.page import render
from bench.operations.parts import IN_CONTAINERS, NAMES, QUICK, UPGRADE, UPGRADE_S, Bench, Times, estimate
from bench.operations.upgrade import upgrade
from tests.containers.engine import ROOT, base_images, missing, not_this_machine, plain_environment
from tests.containers.harness import a_world, aside
from tests.containers.project import a_project
from tests.figures import DIST

PAGE = ROOT / "docs" / "operations-figures.md"
NAME = "operations-figures"
OPEN = {
    "scheduler": {"environment": {"ROTA_POOL": "100"}},
    "trigger-gateway": {"environment": {"ROTA_RATE_PER_ADDRESS": "0", "ROTA_RATE_PER_SOURCE": "0"}},
}
"""Limits that stand before what is measured: slots, and the rate of a single sender."""

SPARE_S = 120.0
INTERRUPTED = "the measurement was interrupted before it"


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


async def measure(kept: Kept, names: tuple[str, ...], times: Times) -> None:
    for name in names:
        kept.miss(name, INTERRUPTED)
    if any(part.name in names for part in IN_CONTAINERS):
        with plain_environment(), tempfile.TemporaryDirectory(prefix="rota-figures-") as folder:
            try:
                await in_containers(kept, names, times, Path(folder))
            except Exception as error:  # what was measured stays, and the upgrade needs no containers
                said = f"the containers ended with {error!r}"[:500]
                say(said)
                for part in IN_CONTAINERS:
                    if kept.missing.get(part.name) == INTERRUPTED:
                        kept.miss(part.name, said)
    if UPGRADE in names:
        say("upgrade: make upgrade-test")
        await one(kept, UPGRADE, upgrade(), UPGRADE_S)


async def in_containers(kept: Kept, names: tuple[str, ...], times: Times, folder: Path) -> None:
    say("building the images")
    with a_project(folder) as project:
        project.override(OPEN)
        say(f"all healthy after {await aside(project.up):.0f} s")
        kept.machine["servers"] = await servers(project)
        async with a_world(project, mails=False) as world:
            bench = Bench(world, kept, times)
            for part in IN_CONTAINERS:
                if part.name in names:
                    say(f"{part.name}: {part.does}, about {part.estimate(times):.0f} s")
                    await one(kept, part.name, part.work(bench), part.estimate(times))
        say("removing the containers")


async def one(kept: Kept, name: str, work: Awaitable[dict[str, Any]], estimate: float) -> None:
    """One part: its figures, or the reason why there are none. It has twice the estimated time, and some more."""
    began, limit = time.monotonic(), 2 * estimate + SPARE_S
    try:
        async with asyncio.timeout(limit):
            figures = await work
    except TimeoutError as error:
        kept.miss(name, str(error) or f"it took longer than {limit:.0f} s")
        say(f"{name} failed: {kept.missing[name]}")
    except Exception as error:  # the other parts are measured all the same
        kept.miss(name, f"{type(error).__name__}: {error}"[:500])
        say(f"{name} failed: {error!r}")
    else:
        kept.note(name, figures, took=time.monotonic() - began)
        say(f"{name}: done in {time.monotonic() - began:.0f} s")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.operations", description=__doc__)
    parser.add_argument("--seconds", type=float, help="of each steady measurement (default 300)")
    parser.add_argument("--quick", action="store_true", help="all parts in seconds, to try it; the page goes to dist/")
    parser.add_argument("--parts", nargs="+", choices=NAMES, metavar="PART", help=f"only these: {', '.join(NAMES)}")
    parser.add_argument("--render", action="store_true", help="write the page again from the raw figures")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    file = DIST / f"{NAME}{'-quick' if given.quick else ''}.json"
    page = file.with_suffix(".md") if given.quick else PAGE
    kept = Kept.read(file) if given.parts or given.render else Kept(file)
    if not given.render:
        if reason := missing(base_images()) or not_this_machine():
            sys.exit(reason)
        times = QUICK if given.quick else Times()
        times = replace(times, steady=given.seconds) if given.seconds else times
        names = tuple(given.parts or NAMES)
        kept.machine, kept.some = {**kept.machine, **machine()}, bool(given.parts)
        say(f"{len(names)} parts, about {estimate(names, times) / 60:.0f} minutes in all")
        signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))  # the containers are removed then
        try:
            asyncio.run(measure(kept, names, times))
        except KeyboardInterrupt:
            say("interrupted")
    if not kept.parts:
        sys.exit("nothing was measured, so there is no page to write")
    page.write_text(render(kept.shown()))
    say(f"written: {page.relative_to(ROOT)}, {file.relative_to(ROOT)}")
    for name, reason in kept.missing.items():
        say(f"missing: {name}: {reason}")
    sys.exit(1 if kept.missing else 0)


if __name__ == "__main__":
    main()
