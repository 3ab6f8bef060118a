"""Alerts: each fires in its case and no other does, names what is measured, and has its section in the runbooks."""

import re
from pathlib import Path

import yaml

from tests.monitoring.firing import BACKUPS, CASES, OBJECTIVES, WELL, Case
from tests.monitoring.harness import ROOT, RULES, alerts, promtool, rules, unknown_of

FIRING = 'count by (alertname) (ALERTS{alertstate="firing"})'
RUNBOOKS = "docs/runbooks.md"


def as_test(case: Case) -> dict[str, object]:
    """In promtool's form."""
    firing = [{"labels": f'{{alertname="{name}"}}', "value": number} for name, number in case.firing.items()]
    return {
        "name": case.what,
        "interval": "1m",
        "input_series": [{"series": each, "values": values} for each, values in {**WELL, **case.given}.items()],
        "promql_expr_test": [{"expr": FIRING, "eval_time": f"{case.at}m", "exp_samples": firing}],
    }


def test_every_rule_reads() -> None:
    promtool("check", "rules", *RULES)


def test_every_alert_fires_in_its_case_and_no_other_does(tmp_path: Path) -> None:  # F16
    fired = {name for case in (*CASES, *OBJECTIVES, *BACKUPS) for name in case.firing}
    assert fired == {alert["alert"] for alert in alerts()}
    for name, every, cases in ("alerts", "2m", CASES), ("slo", "5m", OBJECTIVES), ("backup", "5m", BACKUPS):
        suite = {
            "rule_files": [str(path) for path in RULES if path.stem == name],
            "evaluation_interval": every,
            "tests": [as_test(case) for case in cases],
        }
        path = tmp_path / f"{name}.yml"
        path.write_text(yaml.safe_dump(suite, sort_keys=False))
        promtool("test", "rules", path)


def test_rules_name_only_what_is_measured_or_recorded() -> None:
    unknown = {rule.get("alert") or rule["record"]: found for rule in rules() if (found := unknown_of(rule["expr"]))}
    assert not unknown


def test_alerts_on_backups_name_what_deploy_calls_it() -> None:
    backup = yaml.safe_load((ROOT / "deploy/k8s/components/backup/backup.yaml").read_text())
    overlay = yaml.safe_load((ROOT / "deploy/k8s/overlays/production/kustomization.yaml").read_text())
    named = {(backup["kind"], backup["metadata"]["name"], overlay["namespace"], backup["spec"]["schedule"])}
    assert named == {("CronJob", "backup", "rota", "17 */6 * * *")}, "the same is in backup.yml of the rules"


def test_every_alert_says_how_bad_what_and_what_to_do() -> None:
    headings = re.findall(r"(?m)^## (\w+)$", (ROOT / RUNBOOKS).read_text())
    sections = {f"{RUNBOOKS}#{heading.lower()}": heading for heading in headings}
    found = {alert["alert"]: alert for alert in alerts()}
    broken = [
        name
        for name, alert in found.items()
        if alert["labels"].get("severity") not in {"critical", "warning"}
        or alert["annotations"].keys() != {"summary", "description", "runbook_url"}
        or not name.startswith(sections.get(alert["annotations"]["runbook_url"], "no such section"))
    ]
    unused = set(sections) - {alert["annotations"]["runbook_url"] for alert in found.values()}
    assert not broken, f"expected a severity, three annotations, and a section in {RUNBOOKS} named as the alert"
    assert not unused, f"sections without an alert: {sorted(unused)}"
