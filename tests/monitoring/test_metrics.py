"""Metrics keep to conventions: names, units, labels that end, and a row in docs/monitoring.md."""

import re

import httpx
import pytest
from starlette.applications import Starlette

from rota_common.runtime import metrics
from rota_common.runtime.service import Runtime, Service
from rota_common.runtime.serving import health_routes
from rota_common.testing.in_memory_bus import InMemoryBus
from tests.monitoring.harness import ROOT, Metric, measured

DOCS = (ROOT / "docs/monitoring.md").read_text()
LABELS = set(re.findall(r"`(\w+)`", "".join(re.findall(r"(?ms)^\| Label \|.*?\n\n", DOCS)).replace("`, `", "` `")))
TIMED = re.compile(r"\bTime\b")
PER_TEAM = {"rota_model_calls_total", "rota_model_tokens_total", "rota_model_cost_total", "rota_ceiling_used_ratio"}
"""Their observers name a bounded number of teams."""

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
OPENMETRICS = "application/openmetrics-text; version=1.0.0"


def offences(metric: Metric) -> list[str]:
    name, is_time = metric.name, bool(TIMED.search(metric.help))
    found = {
        "its name begins with rota_, in lower case": not re.fullmatch(r"rota_[a-z]+(_[a-z]+)*", name),
        "its help is a sentence": not re.fullmatch(r"[A-Z0-9].{10,}\.", metric.help),
        "a histogram ends with its unit, _seconds or _bytes": metric.type == "histogram"
        and not name.endswith(("_seconds", "_bytes")),
        "only counters end with _total, _sum, _count or _bucket": metric.type != "counter"
        and name.endswith(("_total", "_sum", "_count", "_bucket")),
        "a gauge ends with a unit or what it counts, or its help says 1 for a state": metric.type == "gauge"
        and not (name.endswith(("s", "_ratio")) or metric.help.startswith("1 ")),
        "a time is in seconds": is_time and not name.endswith("_seconds"),
        "only those whose observer bounds them have the label team": "team" in metric.labels and name not in PER_TEAM,
        f"its labels are in docs/monitoring.md ({metric.labels})": not LABELS.issuperset(metric.labels),
        f"its row in docs/monitoring.md is {row(metric)}": row(metric) not in DOCS,
    }
    return [f"{name}: {expected}" for expected, broken in found.items() if broken]


def row(metric: Metric) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    return f"| `{metric.name}` | {metric.type} | {labels} | {metric.help} |"


def test_every_metric_keeps_to_the_conventions_and_is_documented() -> None:  # F16
    found = measured()
    assert len(found) > 30
    broken = [offence for metric in found for offence in offences(metric)]
    gone = set(re.findall(r"`(rota_\w+)`", DOCS)) - {metric.name for metric in found}
    broken += [f"{name}: docs/monitoring.md has it, and nothing measures it" for name in sorted(gone)]
    assert not broken, "\n".join(broken)


@pytest.fixture
async def http() -> httpx.AsyncClient:
    service = Service("scheduler", "", runtime=Runtime(bus=InMemoryBus()))

    async def away() -> None:
        raise ConnectionError

    service.probe("mongo", away)
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(Starlette(routes=health_routes(service))), base_url="http://scheduler"
    )


async def test_a_scrape_shows_what_is_away_now_and_exemplars_to_who_asks_for_them(http: httpx.AsyncClient) -> None:
    metrics.START_DELAY.labels("human").observe(0.2, metrics.exemplar(TRACE))
    plain = await http.get("/metrics")
    open_metrics = await http.get("/metrics", headers={"accept": OPENMETRICS})
    assert plain.headers["content-type"].startswith("text/plain")
    assert 'rota_dependency_up{dependency="mongo",service="scheduler"} 0.0' in plain.text
    assert 'rota_ready{service="scheduler"} 0.0' in plain.text
    assert "_created" not in plain.text
    assert "trace_id" not in plain.text
    assert open_metrics.headers["content-type"].startswith("application/openmetrics-text")
    bucket = re.escape('rota_start_delay_seconds_bucket{le="0.25",trigger="human"}')
    assert re.search(rf'{bucket} \S+ # {{trace_id="{TRACE}"}} 0\.2', open_metrics.text)
