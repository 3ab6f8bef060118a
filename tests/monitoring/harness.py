"""Metrics as services register them, and the files of `deploy/monitoring`, read."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import REGISTRY
from prometheus_client.metrics import MetricWrapperBase

from rota_contracts.catalog import SERVICES

ROOT = Path(__file__).parents[2]
MONITORING = ROOT / "deploy/monitoring"
RULES = sorted((MONITORING / "prometheus/rules").glob("*.yml"))
DASHBOARDS = MONITORING / "grafana/dashboards"

OF_KUBE_STATE = {
    "kube_cronjob_created": ("namespace", "cronjob"),
    "kube_cronjob_status_last_successful_time": ("namespace", "cronjob"),
    "kube_job_failed": ("namespace", "job_name", "condition"),
    "kube_job_status_start_time": ("namespace", "job_name"),
}
"""What the rules take of kube-state-metrics: series → labels, as its documentation has them."""

SUFFIXES = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count"), "gauge": ("",)}
OF_A_SCRAPE = {"instance", "job", "le"}
TEXTS = re.compile(r'"(?:[^"\\]|\\.)*"')
NAME = re.compile(r"\b(?:rota|process|python|kube)_\w+|\brota:[\w:]+")
SELECTED = re.compile(r"\b((?:rota|kube)_\w+)\s*\{([^}]*)\}")
GROUPED = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")


@dataclass(frozen=True)
class Metric:
    """`name`: of a counter with its `_total`."""

    name: str
    type: str
    help: str
    labels: tuple[str, ...]

    @property
    def series(self) -> set[str]:
        return {self.name.removesuffix("_total") + suffix for suffix in SUFFIXES[self.type]}


def measured() -> list[Metric]:
    """Of all services: what is registered once each is imported. The client library has no public list of labels."""
    for service in SERVICES:
        import_module(f"{service.replace('-', '_')}.app")
    found = [each for each in REGISTRY._collector_to_names if isinstance(each, MetricWrapperBase)]
    metrics = [
        Metric(
            each._name + ("_total" if each._type == "counter" else ""),
            each._type,
            each._documentation,
            tuple(each._labelnames),
        )
        for each in found
    ]
    return sorted(metrics, key=lambda metric: metric.name)


def groups() -> list[dict[str, Any]]:
    return [group for path in RULES for group in yaml.safe_load(path.read_text())["groups"]]


def rules() -> list[dict[str, Any]]:
    return [rule for group in groups() for rule in group["rules"]]


def alerts() -> list[dict[str, Any]]:
    return [rule for rule in rules() if "alert" in rule]


def unknown_of(expression: str) -> set[str]:
    """The series and labels of an expression that nothing measures or records."""
    metrics = OF_KUBE_STATE | {series: metric.labels for metric in measured() for series in metric.series}
    recorded = {rule["record"] for rule in rules() if "record" in rule}
    bare = TEXTS.sub('""', expression)
    names = {name for name in NAME.findall(bare) if name.startswith(("rota", "kube"))}
    unknown = names - set(metrics) - recorded
    for name, selector in SELECTED.findall(bare):
        asked = {part.split("=")[0].strip(" !~") for part in selector.split(",") if "=" in part}
        if name in metrics:
            unknown |= {f"{name}{{{label}}}" for label in asked - {*metrics[name], *OF_A_SCRAPE}}
    of_used = {label for name in names & set(metrics) for label in metrics[name]}
    grouped = {label.strip() for part in GROUPED.findall(bare) for label in part.split(",") if label.strip()}
    if not names & recorded:
        unknown |= {f"by ({label})" for label in grouped - of_used - OF_A_SCRAPE}
    return unknown


def promtool(*arguments: str | Path) -> str:
    """What it prints; fails with that. Skips the test where promtool isn't installed."""
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("promtool is missing: it is in Debian's package prometheus")
    ended = subprocess.run([found, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout
