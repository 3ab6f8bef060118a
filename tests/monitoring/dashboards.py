"""The dashboards as Grafana reads them. `python -m tests.monitoring.dashboards` writes them from `panels`."""

import json
from typing import Any

from tests.monitoring.harness import DASHBOARDS
from tests.monitoring.panels import DASHBOARDS as ALL
from tests.monitoring.panels import Dashboard, Panel

SOURCE = {"type": "prometheus", "uid": "${datasource}"}
COLUMNS, HEIGHT, SMALL = 24, 8, 4
SCHEMA = 39
"""Of Grafana 10 and 11; a newer one migrates it by itself."""


def as_grafana(name: str, dashboard: Dashboard) -> dict[str, Any]:
    picks = (dashboard.picks or {}).items()
    return {
        "uid": f"rota-{name}",
        "title": dashboard.title,
        "tags": ["rota"],
        "schemaVersion": SCHEMA,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "",
        "links": [{"type": "dashboards", "tags": ["rota"], "title": "Rota", "asDropdown": True, "keepTime": True}],
        "templating": {"list": [_source(), *(_pick(label, metric) for label, metric in picks)]},
        "annotations": {"list": []},
        "panels": _placed(dashboard.panels),
    }


def _source() -> dict[str, Any]:
    return {"type": "datasource", "name": "datasource", "label": "Data source", "query": "prometheus", "current": {}}


def _pick(label: str, metric: str) -> dict[str, Any]:
    return {
        "type": "query",
        "name": label,
        "datasource": SOURCE,
        "query": {"query": f"label_values({metric}, {label})", "refId": "pick"},
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
    }


def _placed(panels: list[Panel]) -> list[dict[str, Any]]:
    """Figures in rows of four, graphs in rows of two below them."""
    placed, x, y, height = [], 0, 0, 0
    for number, panel in enumerate(sorted(panels, key=lambda panel: not panel.now), start=1):
        width, tall = (COLUMNS // 4, SMALL) if panel.now else (COLUMNS // 2, HEIGHT)
        if x + width > COLUMNS or (height and tall != height):
            x, y = 0, y + height
        height = tall
        placed.append(_panel(number, panel, {"x": x, "y": y, "w": width, "h": tall}))
        x += width
    return placed


def _panel(number: int, panel: Panel, place: dict[str, int]) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [{"color": "green", "value": None}]
    if panel.limit is not None:
        steps.append({"color": "red", "value": panel.limit})
    custom = {} if panel.now else {"custom": {"thresholdsStyle": {"mode": "line" if panel.limit else "off"}}}
    return {
        "id": number,
        "type": "stat" if panel.now else "timeseries",
        "title": panel.title,
        "description": panel.description,
        "datasource": SOURCE,
        "gridPos": place,
        "fieldConfig": {
            "defaults": {"unit": panel.unit, "min": 0, "thresholds": {"mode": "absolute", "steps": steps}, **custom},
            "overrides": [],
        },
        "options": {"reduceOptions": {"calcs": ["lastNotNull"]}} if panel.now else {"tooltip": {"mode": "multi"}},
        "targets": [
            {
                "refId": chr(ord("A") + place),
                "datasource": SOURCE,
                "expr": query,
                "legendFormat": legend,
                "exemplar": "_bucket" in query,
            }
            for place, (legend, query) in enumerate(panel.queries.items())
        ],
    }


def texts() -> dict[str, str]:
    """File name → what it holds."""
    return {
        f"{name}.json": json.dumps(as_grafana(name, dashboard), indent=2, ensure_ascii=False) + "\n"
        for name, dashboard in ALL.items()
    }


if __name__ == "__main__":
    DASHBOARDS.mkdir(parents=True, exist_ok=True)
    for file_name, text in texts().items():
        (DASHBOARDS / file_name).write_text(text, encoding="utf-8")
