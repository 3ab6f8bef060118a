"""deploy/k8s: every overlay builds, is valid, and holds every service with its address and what it refers to."""

import json
import re
import subprocess
import tempfile
import warnings
from copy import deepcopy
from pathlib import Path

import jsonschema_rs
import pytest

from rota_common.nats_admin.config import KEY_FILE, Folder, Server, kubernetes, write
from rota_common.runtime.embedded_servers import find_nats_server
from rota_contracts.catalog import SERVICES
from tests.certificates import make
from tests.deploy.manifests import K8S, Resource, kustomize, of_kind, pods, references, secrets
from tests.deploy.variables import read_by

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # kubernetes-validate looks its own version up in a deprecated way
    import kubernetes_validate

CUSTOM = {"keda.sh/v1alpha1", "external-secrets.io/v1"}
OVERLAYS = sorted(path.parent.name for path in K8S.glob("overlays/*/kustomization.yaml"))
USERS = [f"mongo-user-{service}" for service in SERVICES if service != "validator"]
OF_BACKUP = ["mongo-user-backup", "nats-key-backup", "nats-key-restore"]
SECRETS = ["rota-trigger-gateway", "nats-accounts", "nats-tls", "mongo-tls", "mongo-key", "qdrant-key"]
FROM_OUTSIDE = {("ConfigMap", "rota-ca"), *(("Secret", name) for name in (*SECRETS, *USERS, *OF_BACKUP))}
"""What the operator makes: never in the repository."""


@pytest.fixture(scope="module", params=OVERLAYS)
def overlay(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def resources(overlay: str) -> list[Resource]:
    return kustomize(K8S / "overlays" / overlay)


def _secrets() -> str:
    """What `rota nats-config --kubernetes` prints."""
    with tempfile.TemporaryDirectory() as folder:
        write(Folder(Path(folder)), Server())
        return kubernetes(Folder(Path(folder)))


def test_kubernetes_accepts_the_secrets_of_nats() -> None:
    for item in json.loads(_secrets())["items"]:
        kubernetes_validate.validate(item, kubernetes_validate.latest_version(), strict=True)


def test_the_documentation_names_every_secret_that_an_overlay_refers_to() -> None:
    known = (K8S.parents[1] / "docs" / "operations.md").read_text()
    unnamed = set()
    for overlay in OVERLAYS:
        rendered = kustomize(K8S / "overlays" / overlay)
        made = set(of_kind(rendered, "Secret"))
        for name in {name for _, pod in pods(rendered) for name in secrets(pod)} - made:
            service = next((service for service in SERVICES if name.endswith(f"-{service}")), "")
            if not {f"`{name}`", f"`{name.removesuffix(service)}SERVICE`"} & set(re.findall(r"`[^`\n]+`", known)):
                unnamed.add(f"{overlay}: {name}")
    assert not unnamed, "docs/operations.md, A shut cluster, has a table of them\n" + "\n".join(sorted(unnamed))


def test_kubernetes_accepts_every_resource(resources: list[Resource]) -> None:
    for resource in resources:
        if resource["apiVersion"] in CUSTOM:
            assert_valid(resource)
        else:
            kubernetes_validate.validate(resource, kubernetes_validate.latest_version(), strict=True)


def assert_valid(resource: Resource) -> None:
    """By the schema of its kind in deploy/k8s/schemas: kubernetes-validate knows none of custom resources."""
    name = f"{resource['kind'].lower()}-{resource['apiVersion'].replace('/', '-')}.json"
    schema = json.loads((K8S / "schemas" / name).read_text())
    problems = [error.message for error in jsonschema_rs.validator_for(schema).iter_errors(resource)]
    assert not problems, f"{resource['kind']} {resource['metadata']['name']}: {problems}"


def test_the_schemas_of_custom_resources_refuse_what_is_wrong() -> None:
    resources = kustomize(K8S / "overlays" / "with-operators")
    wrong = deepcopy(of_kind(resources, "ScaledObject")["learner"])
    wrong["spec"]["triggers"][1]["metadata"]["lagThreshold"] = 5  # a text, or the operator refuses it
    misspelt = deepcopy(of_kind(resources, "ExternalSecret")["mongo-key"])
    misspelt["spec"]["refreshIntervall"] = "1h"
    for resource in (wrong, misspelt):
        with pytest.raises(AssertionError, match=resource["metadata"]["name"]):
            assert_valid(resource)


def test_every_service_of_the_catalog_is_deployed_and_has_an_address(resources: list[Resource]) -> None:
    assert set(SERVICES) <= set(of_kind(resources, "Deployment"))
    assert set(SERVICES) <= set(of_kind(resources, "Service"))
    assert "topology" in of_kind(resources, "Job"), "without its streams no service becomes ready"


def test_services_are_probed_where_they_answer(resources: list[Resource]) -> None:
    for service in SERVICES:
        pod = of_kind(resources, "Deployment")[service]["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        assert container["livenessProbe"]["httpGet"] == {"path": "/health/live", "port": "http"}
        assert container["readinessProbe"]["httpGet"] == {"path": "/health/ready", "port": "http"}
        assert {"name": "http", "containerPort": 8080} in container["ports"]
        assert pod["terminationGracePeriodSeconds"] == 40, "25 s to finish what runs, then the connections"


def test_whatever_a_pod_refers_to_is_there(overlay: str, resources: list[Resource]) -> None:
    there = {(found["kind"], found["metadata"]["name"]) for found in resources}
    for name, pod in pods(resources):
        for kind, wanted in references(pod):
            outside = overlay != "dev" and (kind, wanted) in FROM_OUTSIDE
            assert (kind, wanted) in there or outside, f"{name}: no {kind} {wanted}"


def test_services_are_given_only_variables_that_they_read(resources: list[Resource]) -> None:
    maps = of_kind(resources, "ConfigMap")
    for service, workload in of_kind(resources, "Deployment").items():
        (container,) = workload["spec"]["template"]["spec"]["containers"]
        for source in container.get("envFrom", []) if service in SERVICES else ():
            name = source.get("configMapRef", {}).get("name")
            assert set(maps[name]["data"] if name else ()) <= read_by(service), f"{service}: {name}"


def test_each_service_is_given_its_own_key_of_nats_and_no_other(resources: list[Resource]) -> None:
    secrets = {item["metadata"]["name"] for item in json.loads(_secrets())["items"]}
    found = dict(pods(resources))
    for name in (*SERVICES, "topology"):
        (volume,) = [one["secret"] for one in found[name]["volumes"] if one["name"] == "nats-key"]
        (container,) = found[name]["containers"]
        mounts = {one["name"]: one["mountPath"] for one in container["volumeMounts"]}
        assert volume["secretName"] == f"nats-key-{name}"
        assert mounts["nats-key"] == "/run/nats"
        assert volume["secretName"] in secrets


def test_only_with_its_accounts_does_nats_ask_for_keys(overlay: str, resources: list[Resource]) -> None:
    isolated = overlay != "dev"
    settings = next(data["data"] for name, data in of_kind(resources, "ConfigMap").items() if name.startswith("rota-"))
    assert settings.get("ROTA_NATS_NKEY_FILE") == (f"/run/nats/{KEY_FILE}" if isolated else None)
    (container,) = of_kind(resources, "StatefulSet")["nats"]["spec"]["template"]["spec"]["containers"]
    assert container["args"] == ["--config", f"/etc/nats/{'secured' if isolated else 'nats'}.conf"]


def test_nats_accepts_the_accounts_beside_its_configuration(
    overlay: str, resources: list[Resource], tmp_path: Path
) -> None:
    maps = of_kind(resources, "ConfigMap")
    (name,) = [one for one in maps if one.startswith("nats-")]
    mounted = tmp_path / "etc" / "nats"
    mounted.mkdir(parents=True)
    make(tmp_path / "etc" / "nats-tls")
    for file, text in maps[name]["data"].items():
        (mounted / file).write_text(text.replace("/etc/nats-tls", f"{tmp_path}/etc/nats-tls"))
    write(Folder(tmp_path / "etc" / "nats-accounts"), Server())
    (container,) = of_kind(resources, "StatefulSet")["nats"]["spec"]["template"]["spec"]["containers"]
    config = mounted / Path(container["args"][1]).name
    assert config.exists()
    done = subprocess.run(
        [find_nats_server(), "-t", "-c", config], env={"POD_NAME": "nats-0"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("config", sorted(K8S.rglob("nats.conf")), ids=lambda path: path.parent.name)
def test_what_nats_acknowledges_is_on_the_disk(config: Path) -> None:
    assert "\n  sync_interval: always\n" in config.read_text()


@pytest.mark.parametrize("config", sorted(K8S.rglob("nats.conf")), ids=lambda path: path.parent.name)
def test_nats_accepts_its_configuration(config: Path) -> None:
    done = subprocess.run(
        [find_nats_server(), "-t", "-c", config], env={"POD_NAME": "nats-0"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
