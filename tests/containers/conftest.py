"""One Rota in containers for the whole suite, and what is around it; where it can't run, the reason why."""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.containers.engine import REQUIRED, base_images, missing, not_this_machine, plain_environment
from tests.containers.harness import World, a_world, aside
from tests.containers.project import Project, a_project
from tests.figures import Figures, note_memory

FIGURES = Figures("compose-test")
FOLDER = Path(__file__).parent
TIMEOUT_S = 2400


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(FOLDER):
            item.add_marker(pytest.mark.containers)
            item.add_marker(pytest.mark.timeout(TIMEOUT_S))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if FIGURES.all:
        FIGURES.keep()
        terminalreporter.section(f"measured; kept in dist/{FIGURES.kept_in.name}")
        for line in FIGURES.lines():
            terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def figures() -> Figures:
    return FIGURES


@pytest.fixture(scope="session")
def engine() -> None:
    """Skips what needs containers where they can't run, or fails it with ROTA_REQUIRE_CONTAINERS=1."""
    if reason := missing(base_images()) or not_this_machine():
        (pytest.fail if os.environ.get(REQUIRED) == "1" else pytest.skip)(reason)


@pytest.fixture(scope="session")
def project(engine: None, figures: Figures, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """Built and started: all services are healthy."""
    with plain_environment(), a_project(tmp_path_factory.mktemp("clone")) as made:
        figures.note("all healthy after up, s", made.up())
        yield made


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def world(project: Project, figures: Figures) -> AsyncIterator[World]:
    note_memory(figures, "idle", await aside(project.memory))
    async with a_world(project) as made:
        yield made
