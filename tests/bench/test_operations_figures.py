"""The figures of operation: their arithmetic, the file that keeps them, and the page."""

import re
from pathlib import Path
from typing import Any

import pytest

from bench.operations import arithmetic
from bench.operations.kept import Kept
from bench.operations.load import NO_ROBOT, types_of
from bench.operations.page import SECTIONS, render
from bench.operations.parts import NAMES, QUICK, Times, estimate
from bench.operations.tables import number, percent, seconds, size
from rota_contracts.catalog import SERVICES
from tests.containers.harness import TYPES
from tests.containers.project import STORES

MACHINE = {
    "cores": 2,
    "processor": "a processor",
    "memory_gib": 24.0,
    "system": "Linux 6.1",
    "engine": "Docker 28",
    "rota": "0.2.0",
    "commit": "1a2b3c4d",
    "servers": {"NATS": "2.15.0", "MongoDB": "7.0.1", "Qdrant": "1.20.0"},
}
ORIGIN = {"month": "2026-11", "commit": "1a2b3c4d", "took_s": 60.0}
USED = {
    "seconds": 300.0,
    "services": {name: {"mib": 50.0, "peak_mib": 60.0, "cores": 0.1} for name in (*SERVICES, *STORES)},
    "generator_cores": 0.05,
    "machine_cores": 1.25,
    "p50_s": 0.2,
    "p99_s": 0.9,
    "failed": 0,
}
STEADY = {
    "posted": 1500,
    "accepted": 1500,
    "completed": 1500,
    "sent_again": 0,
    "starting": 1.0,
    "waiting_at_the_end": 1,
    "most_waiting": 4,
    "grew": False,
}
STORED = {
    "mongo": {"rota_executor": {"data": 4e7, "stored": 9e6, "indexes": 1e6, "documents": 1000.0}},
    "nats": {"DELIVERIES": 4e6, "EXECUTIONS": 0.0},
    "qdrant": {"folder": 2e6},
}
PARTS: dict[str, Any] = {
    "idle": USED,
    "highest": {**USED, "rate": 12.0, "in_flight": 40},
    "ten": {**USED, **STEADY, "rate": 10.0},
    "half": {**USED, **STEADY, "rate": 6.0, "stored_per_1000": STORED},
    "most": {**USED, **STEADY, "rate": 10.8, "grew": True},
    "replicas": {
        "service": "executor",
        "limit": 0.2,
        "ratio": 1.9,
        "one": {**USED, "rate": 4.0},
        "two": {**USED, "rate": 7.6},
    },
    "recovery": {
        "rate": 3.0,
        "accepted": 300,
        "completed": 300,
        "repeated": 2,
        "doubled": 0,
        "services": {name: {"healthy_s": 4.0, "result_s": 1.5, "longest_s": 6.0} for name in (*STORES, *SERVICES)},
    },
    "robots": {
        "robots": 500,
        "definition_bytes": 700,
        "create_s": 20.0,
        "memory_bytes": {"scheduler": 2048.0, "executor": -100.0},
        "stored_bytes": {**STORED, "nats": {"KV_robots": 900.0}},
    },
    "upgrade": {
        "from": "0.1.0",
        "to": "0.2.0",
        "upgrade, s": 20.0,
        "rollback, s": 40.0,
        "all, s": 80.0,
        "sent again": 0,
        "webhooks accepted": 182,
        "runs of the clock": 5,
        "calls of an agent": 173,
        "results received": 187,
        "failed": 0,
        "lost": 0,
        "doubled": 0,
        "unreadable": 0,
    },
}


def kept(**changed: Any) -> dict[str, Any]:
    return {
        "machine": MACHINE,
        "parts": {name: {**ORIGIN, **part} for name, part in PARTS.items()},
        "missing": {},
    } | changed


def test_the_page_has_every_section_and_no_gap() -> None:
    page = render(kept())
    assert re.findall(r"^## (.+)$", page, re.MULTILINE) == ["Where and when", *(title for title, *_ in SECTIONS)]
    assert "Not measured" not in page
    assert "nan" not in page
    assert "Two do 1.90 times the work of one." in " ".join(page.split())


def test_every_table_of_the_page_has_as_many_cells_in_each_row() -> None:
    for table in re.findall(r"(?:^\|.*\n)+", render(kept()), re.MULTILINE):
        assert len({row.count(" |") for row in table.splitlines()}) == 1, table


def test_every_part_that_is_measured_is_on_the_page() -> None:
    assert {name for _, _, names, _ in SECTIONS for name in names} == set(NAMES) == set(PARTS)


@pytest.mark.parametrize("name", NAMES)
def test_a_part_that_is_missing_leaves_the_others_and_says_why(name: str) -> None:
    parts = {each: {**ORIGIN, **part} for each, part in PARTS.items() if each != name}
    page = render(kept(parts=parts, missing={name: "TimeoutError: expected\nresults"}))
    assert f"**Not measured**: `{name}` (TimeoutError: expected results)" in page
    assert all(f"## {title}" in page for title, *_ in SECTIONS)


def test_the_page_says_which_periods_were_measured_again_on_new_containers() -> None:
    parts = kept()["parts"]
    assert "Measured again" not in render(kept())
    again = render(kept(parts=parts | {"most": parts["most"] | {"some": True}}))
    assert "Measured again, on new containers: 90 %." in " ".join(again.split())


def test_ten_a_second_beyond_the_highest_rate_start_runs_in_part_and_the_page_says_so() -> None:
    parts = kept()["parts"]
    parts["ten"] |= {"starting": 0.4, "completed": 600}
    assert "40 % of them start a run" in " ".join(render(kept(parts=parts)).split())
    assert "of them start a run" not in render(kept())


def test_figures_are_kept_part_by_part(tmp_path: Path) -> None:
    made = Kept(tmp_path / "dist" / "figures.json", machine=MACHINE)
    made.miss("idle", "interrupted")
    made.note("idle", {"share": 1 / 3}, took=1.0)
    made.miss("highest", "RuntimeError: no")
    read = Kept.read(made.file)
    assert read.parts["idle"]["share"] == 0.3333
    assert read.missing == {"highest": "RuntimeError: no"}
    assert read.shown() == made.shown()


def test_the_whole_measurement_takes_less_than_35_minutes() -> None:
    assert estimate(NAMES, Times()) < 35 * 60
    assert estimate(NAMES, QUICK) < estimate(NAMES, Times()) / 2


def test_a_percentile_is_the_nearest_rank() -> None:
    assert arithmetic.percentile([3, 1, 2], 0.5) == 2
    assert arithmetic.percentile([*range(1, 101)], 0.99) == 99
    assert arithmetic.percentile([7], 0.99) == 7


def test_a_rate_counts_what_is_within_its_time() -> None:
    assert arithmetic.rate_within([0.5, 1.0, 2.0, 2.9, 3.0], 1.0, 3.0) == 1.5


@pytest.mark.parametrize(
    ("waiting", "grows"),
    [([2, 3, 2, 3, 2, 3, 2, 3], False), ([2, 9, 16, 23, 30, 37, 44, 51], True), ([0, 0, 0, 0, 0, 0, 3, 4], False)],
)
def test_a_queue_grows_when_more_wait_at_the_end_than_in_the_beginning(waiting: list[int], grows: bool) -> None:
    assert arithmetic.grew(waiting, rate=5) is grows


def test_growth_is_the_difference_of_each_number() -> None:
    before = {"mongo": {"a": {"data": 100}}, "folder": 10}
    after = {"mongo": {"a": {"data": 300}, "b": {"data": 50}}, "folder": 20}
    assert arithmetic.growth(before, after, 2) == {"mongo": {"a": {"data": 100}, "b": {"data": 25}}, "folder": 5}


def test_a_node_carries_half_of_the_highest_rate() -> None:
    assert arithmetic.robots_carried(10.0, 96) == int(10 * 0.5 * 86_400 / 96)
    assert arithmetic.rate_of_slots(100, 30.0) == pytest.approx(3.33, abs=0.01)


def test_the_disk_at_rest_counts_each_database_by_its_days() -> None:
    assert arithmetic.disk_at_rest({"rota_executor": 10.0, "rota_scheduler": 1.0, "local": 5.0}, 2) == 20 * 90 + 2 * 14


def test_a_replica_is_limited_to_a_third_of_what_it_used() -> None:
    assert arithmetic.limit_for(0.75) == 0.25
    assert arithmetic.limit_for(0.05) == 0.1


def test_a_share_of_the_events_starts_runs() -> None:
    assert types_of(1.0) == TYPES
    half = types_of(0.5)
    assert half[: len(TYPES)] == TYPES
    assert half.count(NO_ROBOT) == len(TYPES)


def test_numbers_are_written_as_they_are_read() -> None:
    assert [number(each) for each in (0, 3, 4.567, 45.67, 4567.8)] == ["0", "3", "4.57", "45.7", "4,568"]
    assert [percent(each) for each in (0.004, 0.25, 1.5)] == ["0.4 %", "25 %", "150 %"]
    assert [seconds(each) for each in (0.25, 4.56, 300.0)] == ["250 ms", "4.6 s", "300 s"]
    assert [size(each) for each in (812, 2048, 5 * 1024**2, -2048)] == ["812 B", "2 KiB", "5 MiB", "-2 KiB"]
