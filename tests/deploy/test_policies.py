"""Policies of the manifests: every overlay keeps them, and each is seen to be broken by what breaks it."""

from collections.abc import Callable
from copy import deepcopy

import pytest

from tests.deploy.manifests import K8S, Resource, kustomize, of_kind
from tests.deploy.policies import EVERYWHERE, IN_PRODUCTION, OF_OVERLAY, SYNC_WAVE, WAVE

Breach = Callable[[list[Resource]], object]


@pytest.fixture(scope="module", params=OF_OVERLAY)
def overlay(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def rendered(overlay: str) -> list[Resource]:
    return kustomize(K8S / "overlays" / overlay)


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
        lambda r: r.append(of_kind(r, "PodDisruptionBudget")["nats"] | {"metadata": in_wave("second")}),
    ],
    "spread": [lambda r: pod(r).pop("topologySpreadConstraints")],
    "labels": [lambda r: of_kind(r, "Job")["topology"]["spec"]["template"]["metadata"]["labels"].clear()],
    "topology": [without("Job", "topology")],
    "default deny": [without("NetworkPolicy", "deny-all")],
    "secrets": [lambda r: r.append({"kind": "Secret", "metadata": in_wave("inside")})],
    "backup": [
        without("CronJob", "backup"),
        without("PersistentVolumeClaim", "backup"),
        lambda r: cron(r, "backup").update(suspend=True),
        lambda r: cron(r, "backup").update(concurrencyPolicy="Allow"),
        lambda r: job(r, "backup").pop("activeDeadlineSeconds"),
        lambda r: steps(r).insert(1, steps(r).pop(2)),  # MongoDB before what leaves TRIGGERS for it
        lambda r: steps(r)[3]["args"].remove("DELIVERIES"),
    ],
    "restore": [lambda r: cron(r, "restore").pop("suspend")],
    "priority": [
        lambda r: pod(r).pop("priorityClassName"),
        lambda r: pod(r, "mongo").update(priorityClassName="rota-services"),
        lambda r: pod(r).update(priorityClassName="rota-servers"),
        without("PriorityClass", "rota-services"),
    ],
    "waves": [
        lambda r: meta(r, "Deployment", "memory")["labels"].update({WAVE: "5"}),
        lambda r: meta(r, "Deployment", "executor")["annotations"].update({SYNC_WAVE: "5"}),
        lambda r: meta(r, "Job", "topology")["annotations"].pop("argocd.argoproj.io/hook"),
        lambda r: meta(r, "NetworkPolicy", "deny-all")["labels"].clear(),
    ],
    "scaling": [
        lambda r: r.append(scaler("executor", least=2, most=4)),  # beside a fixed number, or another scaler
        lambda r: r.append(scaler("scheduler", least=2, most=4)),
        lambda r: r.append(scaler("unknown", least=2, most=4)),
    ],
}
OF_ONE: dict[str, dict[str, list[Breach]]] = {
    "production": {},
    "with-operators": {
        "scaled": [without("ScaledObject", "executor"), without("HorizontalPodAutoscaler", "memory")],
        "secrets from a store": [without("ExternalSecret", "mongo-key"), without("ExternalSecret", "nats-key-memory")],
        "scaling": [
            lambda r: scaled(r, "executor").update(minReplicaCount=1),
            lambda r: scaled(r, "executor").pop("minReplicaCount"),
            lambda r: scaled(r, "executor").update(maxReplicaCount=2),
            lambda r: scaled(r, "learner")["triggers"][1]["metadata"].update(consumer="executor-learning-completed"),
            lambda r: scaled(r, "learner")["triggers"][1]["metadata"].update(stream="FACTS"),
            lambda r: of_kind(r, "HorizontalPodAutoscaler")["memory"]["spec"].pop("minReplicas"),
            lambda r: of_kind(r, "Deployment")["memory"]["spec"].update(replicas=2),
        ],
    },
    "air-gapped": {
        "from outside": [
            lambda r: container(r).update(image="rota/trigger-gateway:0.1.0"),
            lambda r: steps(r)[2].update(image="mongo:7.0"),
            lambda r: of_kind(r, "NetworkPolicy")["to-own-networks"]["spec"]["egress"][0]["to"][0]["ipBlock"].update(
                cidr="0.0.0.0/0"
            ),
        ]
    },
}


def cron(resources: list[Resource], name: str) -> Resource:
    found = of_kind(resources, "CronJob")[name]["spec"]
    assert isinstance(found, dict)
    return found


def job(resources: list[Resource], name: str) -> Resource:
    return dict_of(cron(resources, name)["jobTemplate"]["spec"])


def steps(resources: list[Resource]) -> list[Resource]:
    found = job(resources, "backup")["template"]["spec"]["initContainers"]
    assert isinstance(found, list)
    return found


def scaled(resources: list[Resource], name: str) -> Resource:
    return dict_of(of_kind(resources, "ScaledObject")[name]["spec"])


def meta(resources: list[Resource], kind: str, name: str) -> Resource:
    return dict_of(of_kind(resources, kind)[name]["metadata"])


def dict_of(found: object) -> Resource:
    assert isinstance(found, dict)
    return found


def in_wave(name: str, wave: int = 0) -> Resource:
    return {"name": name, "labels": {WAVE: str(wave)}, "annotations": {SYNC_WAVE: str(wave)}}


def scaler(name: str, *, least: int, most: int) -> Resource:
    spec = {"scaleTargetRef": {"name": name}, "minReplicas": least, "maxReplicas": most}
    return {"kind": "HorizontalPodAutoscaler", "metadata": in_wave(f"{name}-more", 6), "spec": spec}


def broken(resources: list[Resource], overlay: str) -> dict[str, list[str]]:
    rules = EVERYWHERE | IN_PRODUCTION | OF_OVERLAY[overlay]
    return {rule: offenders for rule, check in rules.items() if (offenders := check(resources))}


def test_each_overlay_of_production_keeps_every_policy(overlay: str, rendered: list[Resource]) -> None:
    assert broken(rendered, overlay) == {}


def test_dev_keeps_the_policies_of_every_overlay() -> None:
    resources = kustomize(K8S / "overlays" / "dev")
    assert {rule: found for rule, check in EVERYWHERE.items() if (found := check(resources))} == {}


def test_each_policy_sees_what_breaks_it_and_nothing_else(overlay: str, rendered: list[Resource]) -> None:
    assert set(BREACHES) == {*EVERYWHERE, *IN_PRODUCTION}
    assert set(OF_ONE[overlay]) - set(BREACHES) == set(OF_OVERLAY[overlay])
    found = BREACHES if overlay == "production" else OF_ONE[overlay]
    unseen = []
    for rule, breaches in found.items():
        for number, breach in enumerate(breaches):
            resources = deepcopy(rendered)
            breach(resources)
            if set(seen := broken(resources, overlay)) != {rule}:
                unseen.append(f"{rule} {number}: {seen}")
    assert not unseen, "\n".join(unseen)
