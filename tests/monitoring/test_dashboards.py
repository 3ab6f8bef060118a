"""Dashboards: as `panels` has them, each panel with a unit and a description, each query about what is measured."""

import json
from pathlib import Path
from typing import Any

import yaml

from tests.monitoring.dashboards import texts
from tests.monitoring.harness import DASHBOARDS, promtool, unknown_of

VARIABLES = {"$__rate_interval": "5m", "$channel": ".*", "$team": ".*"}


def panels() -> list[tuple[str, dict[str, Any]]]:
    """Of all files, with where each is."""
    files = sorted(DASHBOARDS.glob("*.json"))
    return [
        (f"{path.name}: {panel['title']}", panel) for path in files for panel in json.loads(path.read_text())["panels"]
    ]


def queries() -> dict[str, str]:
    """Of all panels, as Prometheus is asked."""
    found = {}
    for where, panel in panels():
        for target in panel["targets"]:
            query = target["expr"]
            for variable, value in VARIABLES.items():
                query = query.replace(variable, value)
            found[f"{where}, {target['legendFormat']}"] = query
    return found


def test_the_files_are_what_the_panels_say() -> None:
    found = {path.name: path.read_text(encoding="utf-8") for path in DASHBOARDS.glob("*.json")}
    assert found == texts(), "run python -m tests.monitoring.dashboards"


def test_every_panel_has_a_unit_a_description_and_a_place_of_its_own() -> None:
    broken, taken = [], set()
    for where, panel in panels():
        place = panel["gridPos"]
        corner = where.partition(":")[0], place["x"], place["y"]
        bare = not (panel["fieldConfig"]["defaults"]["unit"] and panel["description"].endswith("."))
        if bare or corner in taken or place["x"] + place["w"] > 24 or not panel["targets"]:
            broken.append(where)
        taken.add(corner)
    assert taken
    assert not broken


def test_every_query_reads_and_names_only_what_is_measured(tmp_path: Path) -> None:
    unknown = {where: found for where, query in queries().items() if (found := unknown_of(query))}
    assert not unknown
    named = [{"record": f"query:number_{number}", "expr": query} for number, query in enumerate(queries().values())]
    rules = tmp_path / "queries.yml"
    rules.write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": named}]}))
    promtool("check", "rules", rules)
