"""The manifests of deploy/k8s as Kustomize renders them."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

K8S = Path(__file__).parents[2] / "deploy" / "k8s"

Resource = dict[str, Any]


def kustomize(folder: Path) -> list[Resource]:
    for command in (["kustomize", "build"], ["kubectl", "kustomize"]):
        if shutil.which(command[0]):
            done = subprocess.run([*command, folder], capture_output=True, text=True, timeout=60)
            assert done.returncode == 0, done.stderr
            return [document for document in yaml.safe_load_all(done.stdout) if document]
    pytest.skip("neither kustomize nor kubectl is on PATH: the Kubernetes manifests were not built")


def of_kind(resources: list[Resource], *kinds: str) -> dict[str, Resource]:
    return {found["metadata"]["name"]: found for found in resources if found["kind"] in kinds}


WORKLOADS = ("Deployment", "StatefulSet", "Job", "CronJob")


def template(workload: Resource) -> Resource:
    """That of its pods."""
    spec = workload["spec"]["jobTemplate"]["spec"] if workload["kind"] == "CronJob" else workload["spec"]
    found = spec["template"]
    assert isinstance(found, dict)
    return found


def pods(resources: list[Resource]) -> Iterator[tuple[str, Resource]]:
    for name, workload in of_kind(resources, *WORKLOADS).items():
        yield name, template(workload)["spec"]


def references(pod: Resource) -> Iterator[tuple[str, str]]:
    """Kind and name of what the pod can't start without."""
    for container in [*pod.get("initContainers", []), *pod["containers"]]:
        for source in container.get("envFrom", []):
            for key, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
                if key in source and not source[key].get("optional"):
                    yield kind, source[key]["name"]
        for variable in container.get("env", []):
            if wanted := variable.get("valueFrom", {}).get("secretKeyRef"):
                yield "Secret", wanted["name"]
    for volume in pod.get("volumes", []):
        yield from _of_volume(volume)


def _of_volume(volume: Resource) -> Iterator[tuple[str, str]]:
    if "configMap" in volume:
        yield "ConfigMap", volume["configMap"]["name"]
    if "secret" in volume and not volume["secret"].get("optional"):
        yield "Secret", volume["secret"]["secretName"]
    for source in volume.get("projected", {}).get("sources", []):
        if "secret" in source:
            yield "Secret", source["secret"]["name"]


def secrets(part: Any) -> Iterator[str]:
    """Names of the Secrets that a pod, or a part of one, refers to; optional ones too."""
    if isinstance(part, list):
        for each in part:
            yield from secrets(each)
    if not isinstance(part, dict):
        return
    for key, value in part.items():
        if key in ("secret", "secretRef", "secretKeyRef"):
            yield value["secretName"] if "secretName" in value else value["name"]
        else:
            yield from secrets(value)
