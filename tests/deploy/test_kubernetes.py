"""deploy/k8s: every overlay builds, is valid, and holds every service with probes, limits and what it refers to."""

import shutil
import subprocess
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from rota_common.embedded import find_nats_server
from rota_contracts.catalog import SERVICES
from tests.deploy.variables import read_by

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # kubernetes-validate looks its own version up in a deprecated way
    import kubernetes_validate

ROOT = Path(__file__).parents[2]
K8S = ROOT / "deploy" / "k8s"
OVERLAYS = sorted(path.parent.name for path in K8S.glob("overlays/*/kustomization.yaml"))
FROM_OUTSIDE = {("production", "Secret", "rota-trigger-gateway")}
"""Secrets that the operator makes: never in the repository."""

Resource = dict[str, Any]


def kustomize(folder: Path) -> list[Resource]:
    for command in (["kustomize", "build"], ["kubectl", "kustomize"]):
        if shutil.which(command[0]):
            done = subprocess.run([*command, folder], capture_output=True, text=True, timeout=60)
            assert done.returncode == 0, done.stderr
            return [document for document in yaml.safe_load_all(done.stdout) if document]
    pytest.skip("neither kustomize nor kubectl is on PATH: the Kubernetes manifests were not built")


@pytest.fixture(scope="module", params=OVERLAYS)
def overlay(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def resources(overlay: str) -> list[Resource]:
    return kustomize(K8S / "overlays" / overlay)


def of_kind(resources: list[Resource], *kinds: str) -> dict[str, Resource]:
    return {found["metadata"]["name"]: found for found in resources if found["kind"] in kinds}


def pods(resources: list[Resource]) -> Iterator[tuple[str, Resource]]:
    for name, workload in of_kind(resources, "Deployment", "StatefulSet", "Job").items():
        yield name, workload["spec"]["template"]["spec"]


def references(pod: Resource) -> Iterator[tuple[str, str]]:
    """Kind and name of what the pod can't start without."""
    for container in pod["containers"]:
        for source in container.get("envFrom", []):
            for key, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
                if key in source and not source[key].get("optional"):
                    yield kind, source[key]["name"]
    for volume in pod.get("volumes", []):
        if "configMap" in volume:
            yield "ConfigMap", volume["configMap"]["name"]


def test_kubernetes_accepts_every_resource(resources: list[Resource]) -> None:
    for resource in resources:
        kubernetes_validate.validate(resource, kubernetes_validate.latest_version(), strict=True)


def test_every_service_of_the_catalog_is_deployed_and_has_an_address(resources: list[Resource]) -> None:
    assert set(SERVICES) <= set(of_kind(resources, "Deployment"))
    assert set(SERVICES) <= set(of_kind(resources, "Service"))
    assert "topology" in of_kind(resources, "Job"), "without its streams no service becomes ready"


def test_everything_that_stays_up_has_probes(resources: list[Resource]) -> None:
    for name, workload in of_kind(resources, "Deployment", "StatefulSet").items():
        for container in workload["spec"]["template"]["spec"]["containers"]:
            assert {"livenessProbe", "readinessProbe"} <= set(container), f"{name} has no probes"


def test_services_are_probed_where_they_answer(resources: list[Resource]) -> None:
    for service in SERVICES:
        pod = of_kind(resources, "Deployment")[service]["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        assert container["livenessProbe"]["httpGet"] == {"path": "/health/live", "port": "http"}
        assert container["readinessProbe"]["httpGet"] == {"path": "/health/ready", "port": "http"}
        assert {"name": "http", "containerPort": 8080} in container["ports"]
        assert pod["terminationGracePeriodSeconds"] == 40, "25 s to finish what runs, then the connections"


def test_every_container_says_what_it_needs_and_is_held_to_little(resources: list[Resource]) -> None:
    for name, pod in pods(resources):
        assert pod["securityContext"]["runAsNonRoot"], name
        for container in pod["containers"]:
            assert {"cpu", "memory"} <= set(container["resources"]["requests"]), name
            assert "memory" in container["resources"]["limits"], name
            assert container["securityContext"]["readOnlyRootFilesystem"], name
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}, name


def test_every_image_has_a_version(resources: list[Resource]) -> None:
    for name, pod in pods(resources):
        for container in pod["containers"]:
            assert ":" in container["image"], f"{name}: {container['image']} would be whatever is newest"


def test_whatever_a_pod_refers_to_is_there(overlay: str, resources: list[Resource]) -> None:
    there = {(found["kind"], found["metadata"]["name"]) for found in resources}
    for name, pod in pods(resources):
        for kind, wanted in references(pod):
            assert (kind, wanted) in there or (overlay, kind, wanted) in FROM_OUTSIDE, f"{name}: no {kind} {wanted}"


def test_services_are_given_only_variables_that_they_read(resources: list[Resource]) -> None:
    maps = of_kind(resources, "ConfigMap")
    for service, workload in of_kind(resources, "Deployment").items():
        for kind, name in references(workload["spec"]["template"]["spec"]) if service in SERVICES else ():
            if kind == "ConfigMap":
                assert set(maps[name]["data"]) <= read_by(service), f"{service}: {name}"


@pytest.mark.parametrize("config", sorted(K8S.rglob("nats.conf")), ids=lambda path: path.parent.name)
def test_nats_accepts_its_configuration(config: Path) -> None:
    done = subprocess.run(
        [find_nats_server(), "-t", "-c", config], env={"POD_NAME": "nats-0"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
