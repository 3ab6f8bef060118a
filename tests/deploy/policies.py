"""Policies of the manifests: each a function that names the offenders among rendered resources."""

from collections.abc import Callable, Iterator
from typing import Any

from rota_common.runtime.settings import ServiceSettings
from rota_contracts.catalog import SERVICES
from tests.deploy.manifests import Resource, of_kind, pods

STOP_S: float = ServiceSettings.model_fields["stop_timeout"].default
"""Seconds in which a stopping service finishes what it has in hand."""
NAME = "app.kubernetes.io/name"

Rule = Callable[[list[Resource]], list[str]]


def containers(resources: list[Resource]) -> Iterator[tuple[str, Resource]]:
    for name, pod in pods(resources):
        for container in [*pod.get("initContainers", []), *pod["containers"]]:
            yield f"{name}/{container['name']}", container


def of_pod(holds: Callable[[Resource], Any]) -> Rule:
    return lambda resources: [name for name, pod in pods(resources) if not holds(pod)]


def of_container(holds: Callable[[Resource], Any]) -> Rule:
    return lambda resources: [name for name, container in containers(resources) if not holds(container)]


def no_probes(resources: list[Resource]) -> list[str]:
    wanted = {"startupProbe", "livenessProbe", "readinessProbe"}
    found = of_kind(resources, "Deployment", "StatefulSet")
    return [name for name, one in found.items() if not all(wanted <= set(c) for c in _pod(one)["containers"])]


def replicated(resources: list[Resource]) -> Iterator[tuple[str, Resource]]:
    for name, workload in of_kind(resources, "Deployment", "StatefulSet").items():
        if workload["spec"].get("replicas", 1) > 1:
            yield name, workload


def no_budget(resources: list[Resource]) -> list[str]:
    """Exactly one budget selects the pods; with two, an eviction is refused for ever."""
    budgets = [one["spec"] for one in of_kind(resources, "PodDisruptionBudget").values()]
    held = [one["selector"]["matchLabels"] for one in budgets if one.get("maxUnavailable") == 1]
    return [name for name, one in replicated(resources) if [_selects(labels, one) for labels in held].count(True) != 1]


def no_spread(resources: list[Resource]) -> list[str]:
    return [
        name
        for name, one in replicated(resources)
        if not any(
            spread["topologyKey"] == "kubernetes.io/hostname"
            and NAME in spread["matchLabelKeys"]
            and _selects(spread["labelSelector"]["matchLabels"], one)
            for spread in _pod(one).get("topologySpreadConstraints", [])
        )
    ]


def too_little_grace(resources: list[Resource]) -> list[str]:
    deployed = of_kind(resources, "Deployment")
    return [
        name for name in SERVICES if _pod(deployed[name])["terminationGracePeriodSeconds"] < _stop_s(deployed[name])
    ]


def no_drain(resources: list[Resource]) -> list[str]:
    """The gateway alone has clients who come by a load balancer."""
    (container,) = _pod(of_kind(resources, "Deployment")["trigger-gateway"])["containers"]
    return [] if container.get("lifecycle", {}).get("preStop", {}).get("sleep") else ["trigger-gateway"]


def no_default_deny(resources: list[Resource]) -> list[str]:
    denied = {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    return [] if denied in [one["spec"] for one in of_kind(resources, "NetworkPolicy").values()] else ["the namespace"]


def no_labels(resources: list[Resource]) -> list[str]:
    workloads = of_kind(resources, "Deployment", "StatefulSet", "Job")
    return [name for name, one in workloads.items() if _labels(one).get(NAME) != name]


def secrets_inside(resources: list[Resource]) -> list[str]:
    return list(of_kind(resources, "Secret"))


def no_topology(resources: list[Resource]) -> list[str]:
    return [] if "topology" in of_kind(resources, "Job") else ["topology"]


def _pod(workload: Resource) -> Resource:
    return dict(workload["spec"]["template"]["spec"])


def _labels(workload: Resource) -> dict[str, str]:
    return dict(workload["spec"]["template"]["metadata"]["labels"])


def _selects(labels: dict[str, str], workload: Resource) -> bool:
    return labels.items() <= _labels(workload).items()


def _stop_s(workload: Resource) -> float:
    hooks: list[dict[str, int]] = [
        c.get("lifecycle", {}).get("preStop", {}).get("sleep", {}) for c in _pod(workload)["containers"]
    ]
    return STOP_S + max(hook.get("seconds", 0) for hook in hooks)


EVERYWHERE: dict[str, Rule] = {
    "runs as root": of_pod(lambda pod: pod["securityContext"].get("runAsNonRoot")),
    "seccomp": of_pod(lambda pod: pod["securityContext"].get("seccompProfile") == {"type": "RuntimeDefault"}),
    "service account token": of_pod(lambda pod: pod.get("automountServiceAccountToken") is False),
    "privilege escalation": of_container(lambda c: c["securityContext"].get("allowPrivilegeEscalation") is False),
    "writable root": of_container(lambda c: c["securityContext"].get("readOnlyRootFilesystem")),
    "capabilities": of_container(lambda c: c["securityContext"].get("capabilities") == {"drop": ["ALL"]}),
    "requests": of_container(lambda c: {"cpu", "memory"} <= set(c["resources"].get("requests", {}))),
    "limits": of_container(lambda c: "memory" in c["resources"].get("limits", {})),
    "image version": of_container(lambda c: c["image"].partition(":")[2] not in ("", "latest")),
    "probes": no_probes,
    "grace period": too_little_grace,
    "drain": no_drain,
    "budget": no_budget,
    "spread": no_spread,
    "labels": no_labels,
    "topology": no_topology,
}
IN_PRODUCTION: dict[str, Rule] = {"default deny": no_default_deny, "secrets": secrets_inside}
"""What dev, a cluster that only its owner reaches, does without."""
