"""The configurations that docs/monitoring.md shows: Prometheus reads them, and they find each service's port."""

import re
import subprocess
from pathlib import Path
from typing import Any

import yaml

from rota_contracts.catalog import SERVICES
from tests.monitoring.harness import ROOT, promtool

PAGE = (ROOT / "docs/monitoring.md").read_text()
BASE = ROOT / "deploy/k8s/base"
PORTS = {service: 8081 if service == "trigger-gateway" else 8080 for service in SERVICES}


def block(beginning: str) -> str:
    """The one block of the page that begins so."""
    (found,) = re.findall(rf"(?s)```\w*\n({re.escape(beginning)}.*?)```", PAGE)
    return str(found)


def ports_of(deployment: Path) -> dict[str, int]:
    manifest: dict[str, Any] = yaml.safe_load(deployment.read_text())
    (container,) = manifest["spec"]["template"]["spec"]["containers"]
    return {port["name"]: port["containerPort"] for port in container.get("ports", [])}


def test_prometheus_finds_one_port_of_each_service_in_a_cluster(tmp_path: Path) -> None:
    shown = yaml.safe_load(block("rule_files:"))
    (job,) = shown["scrape_configs"]
    overlay = yaml.safe_load((ROOT / "deploy/k8s/overlays/production/kustomization.yaml").read_text())
    assert job.pop("kubernetes_sd_configs") == [{"role": "pod", "namespaces": {"names": [overlay["namespace"]]}}]
    checked = tmp_path / "prometheus.yml"  # Debian's promtool is built without the discovery of Kubernetes
    checked.write_text(yaml.safe_dump(shown))
    promtool("check", "config", checked)
    (kept,) = [rule["regex"] for rule in job["relabel_configs"] if len(rule["source_labels"]) == 2]
    everywhere = ports_of(ROOT / "deploy/k8s/components/service/deployment.yaml")
    for service, wanted in PORTS.items():
        ports = everywhere | ports_of(BASE / service / "deployment.yaml")
        found = [port for name, port in ports.items() if re.fullmatch(kept, f"{service};{name}")]
        assert found == [wanted], service
    assert not re.fullmatch(kept, "nats;http")


def test_rules_with_links_to_a_copy_of_the_runbooks_still_read(tmp_path: Path) -> None:
    commands = block("mkdir -p rules").replace("deploy/monitoring", str(ROOT / "deploy/monitoring"))
    subprocess.run(["sh", "-euc", commands], cwd=tmp_path, check=True)
    made = sorted((tmp_path / "rules").glob("*.yml"))
    promtool("check", "rules", *made)
    links = [link for path in made for link in re.findall("runbook_url: (.*)", path.read_text())]
    assert links
    assert all(link.startswith("https://git.example.com/rota/blob/main/docs/runbooks.md#rota") for link in links)
