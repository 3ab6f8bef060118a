"""deploy/k8s: every overlay builds, is valid, and holds every service with probes, limits and what it refers to."""

import json
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from rota_common.nats_admin.config import KEY_FILE, Folder, Server, kubernetes, write
from rota_common.runtime.embedded_servers import find_nats_server
from rota_contracts.catalog import SERVICES
from tests.deploy.variables import read_by

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # kubernetes-validate looks its own version up in a deprecated way
    import kubernetes_validate

ROOT = Path(__file__).parents[2]
K8S = ROOT / "deploy" / "k8s"
OVERLAYS = sorted(path.parent.name for path in K8S.glob("overlays/*/kustomization.yaml"))
FROM_OUTSIDE = {("production", "Secret", "rota-trigger-gateway"), ("production", "Secret", "nats-accounts")}
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
        if "secret" in volume and not volume["secret"].get("optional"):
            yield "Secret", volume["secret"]["secretName"]


def _secrets() -> str:
    """What `rota nats-config --kubernetes` prints."""
    with tempfile.TemporaryDirectory() as folder:
        write(Folder(Path(folder)), Server())
        return kubernetes(Folder(Path(folder)))


def test_kubernetes_accepts_the_secrets_of_nats() -> None:
    for item in json.loads(_secrets())["items"]:
        kubernetes_validate.validate(item, kubernetes_validate.latest_version(), strict=True)


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


def test_each_service_is_given_its_own_key_of_nats_and_no_other(resources: list[Resource]) -> None:
    secrets = {item["metadata"]["name"] for item in json.loads(_secrets())["items"]}
    found = dict(pods(resources))
    for name in (*SERVICES, "topology"):
        (volume,) = [one["secret"] for one in found[name]["volumes"] if "secret" in one]
        (container,) = found[name]["containers"]
        mounts = {one["name"]: one["mountPath"] for one in container["volumeMounts"]}
        assert volume["secretName"] == f"nats-key-{name}"
        assert mounts["nats-key"] == "/run/nats"
        assert volume["secretName"] in secrets


def test_only_with_its_accounts_does_nats_ask_for_keys(overlay: str, resources: list[Resource]) -> None:
    isolated = overlay == "production"
    settings = next(data["data"] for name, data in of_kind(resources, "ConfigMap").items() if name.startswith("rota-"))
    assert settings.get("ROTA_NATS_NKEY_FILE") == (f"/run/nats/{KEY_FILE}" if isolated else None)
    (container,) = of_kind(resources, "StatefulSet")["nats"]["spec"]["template"]["spec"]["containers"]
    assert container["args"] == ["--config", f"/etc/nats/{'isolated' if isolated else 'nats'}.conf"]


def test_nats_accepts_the_accounts_beside_its_configuration(
    overlay: str, resources: list[Resource], tmp_path: Path
) -> None:
    maps = of_kind(resources, "ConfigMap")
    (name,) = [one for one in maps if one.startswith("nats-")]
    mounted = tmp_path / "etc" / "nats"
    mounted.mkdir(parents=True)
    for file, text in maps[name]["data"].items():
        (mounted / file).write_text(text)
    write(Folder(tmp_path / "etc" / "nats-accounts"), Server())
    (container,) = of_kind(resources, "StatefulSet")["nats"]["spec"]["template"]["spec"]["containers"]
    config = mounted / Path(container["args"][1]).name
    assert config.exists()
    done = subprocess.run(
        [find_nats_server(), "-t", "-c", config], env={"POD_NAME": "nats-0"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("config", sorted(K8S.rglob("nats.conf")), ids=lambda path: path.parent.name)
def test_nats_accepts_its_configuration(config: Path) -> None:
    done = subprocess.run(
        [find_nats_server(), "-t", "-c", config], env={"POD_NAME": "nats-0"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
