"""Policies of the manifests: every overlay keeps them, and each is seen to be broken by what breaks it."""

from collections.abc import Callable
from copy import deepcopy

import pytest

from tests.deploy.manifests import K8S, Resource, kustomize, of_kind
from tests.deploy.policies import EVERYWHERE, IN_PRODUCTION

RULES = EVERYWHERE | IN_PRODUCTION
Breach = Callable[[list[Resource]], object]


@pytest.fixture(scope="module")
def production() -> list[Resource]:
    return kustomize(K8S / "overlays" / "production")


def pod(resources: list[Resource], name: str = "trigger-gateway") -> Resource:
    found = of_kind(resources, "Deployment", "StatefulSet")[name]["spec"]["template"]["spec"]
    assert isinstance(found, dict)
    return found


def container(resources: list[Resource]) -> Resource:
    found = pod(resources)["containers"][0]
    assert isinstance(found, dict)
    return found


def without(kind: str, name: str) -> Breach:
    return lambda resources: resources.remove(of_kind(resources, kind)[name])


BREACHES: dict[str, list[Breach]] = {
    "runs as root": [lambda r: pod(r)["securityContext"].update(runAsNonRoot=False)],
    "seccomp": [lambda r: pod(r)["securityContext"].update(seccompProfile={"type": "Unconfined"})],
    "service account token": [lambda r: pod(r).pop("automountServiceAccountToken")],
    "privilege escalation": [lambda r: container(r)["securityContext"].pop("allowPrivilegeEscalation")],
    "writable root": [
        lambda r: container(r)["securityContext"].pop("readOnlyRootFilesystem"),
        lambda r: pod(r, "mongo")["initContainers"][0]["securityContext"].update(readOnlyRootFilesystem=False),
    ],
    "capabilities": [lambda r: container(r)["securityContext"]["capabilities"].update(add=["NET_ADMIN"])],
    "requests": [lambda r: container(r)["resources"]["requests"].pop("cpu")],
    "limits": [lambda r: container(r)["resources"].pop("limits")],
    "image version": [
        lambda r: container(r).update(image="rota/trigger-gateway"),
        lambda r: container(r).update(image="rota/trigger-gateway:latest"),
    ],
    "probes": [lambda r: container(r).pop("startupProbe"), lambda r: container(r).pop("readinessProbe")],
    "grace period": [
        lambda r: pod(r).update(terminationGracePeriodSeconds=29),
        lambda r: container(r)["lifecycle"]["preStop"]["sleep"].update(seconds=16),
    ],
    "drain": [lambda r: container(r).pop("lifecycle")],
    "budget": [
        without("PodDisruptionBudget", "memory"),
        lambda r: r.append(of_kind(r, "PodDisruptionBudget")["nats"] | {"metadata": {"name": "second"}}),
    ],
    "spread": [lambda r: pod(r).pop("topologySpreadConstraints")],
    "labels": [lambda r: of_kind(r, "Job")["topology"]["spec"]["template"]["metadata"]["labels"].clear()],
    "topology": [without("Job", "topology")],
    "default deny": [without("NetworkPolicy", "deny-all")],
    "secrets": [lambda r: r.append({"kind": "Secret", "metadata": {"name": "inside"}})],
}


def broken(resources: list[Resource]) -> dict[str, list[str]]:
    return {rule: offenders for rule, check in RULES.items() if (offenders := check(resources))}


def test_production_keeps_every_policy(production: list[Resource]) -> None:
    assert broken(production) == {}


def test_dev_keeps_the_policies_of_every_overlay() -> None:
    resources = kustomize(K8S / "overlays" / "dev")
    assert {rule: found for rule, check in EVERYWHERE.items() if (found := check(resources))} == {}


def test_each_policy_sees_what_breaks_it_and_nothing_else(production: list[Resource]) -> None:
    assert set(BREACHES) == set(RULES)
    unseen = []
    for rule, breaches in BREACHES.items():
        for number, breach in enumerate(breaches):
            resources = deepcopy(production)
            breach(resources)
            if set(found := broken(resources)) != {rule}:
                unseen.append(f"{rule} {number}: {found}")
    assert not unseen, "\n".join(unseen)
