"""Policies of the manifests: each a function that names the offenders among rendered resources."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rota_common.runtime.settings import ServiceSettings
from rota_contracts.catalog import SERVICES
from rota_contracts.streams import BACKED_UP, BACKED_UP_FIRST, consumers
from tests.deploy.manifests import WORKLOADS, Resource, of_kind, pods, references, template

STOP_S: float = ServiceSettings.model_fields["stop_timeout"].default
"""Seconds in which a stopping service finishes what it has in hand."""
NAME = "app.kubernetes.io/name"
WAVE, SYNC_WAVE, HOOK = "rota/wave", "argocd.argoproj.io/sync-wave", "argocd.argoproj.io/hook"
READERS_FIRST = (
    {"topology"},
    {"memory", "validator", "learner", "delivery-center"},
    {"executor"},
    {"scheduler"},
    {"trigger-gateway"},
)
"""The order of a rollout, after the servers: "Two versions at once" of docs/operations.md gives the reasons."""

AT_LEAST = 2
"""Replicas in production: one is left while another is replaced."""

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
        scaled = dict(scalers(resources)).get(name, {})
        if max(workload["spec"].get("replicas", 1), scaled.get("least", 1)) > 1:
            yield name, workload


def scalers(resources: list[Resource]) -> Iterator[tuple[str, dict[str, Any]]]:
    """What is scaled, between which numbers, by the lag of which consumers."""
    for one in resources:
        spec = one.get("spec", {})
        if one["kind"] == "HorizontalPodAutoscaler":
            found = {"least": spec.get("minReplicas", 1), "most": spec["maxReplicas"], "lag": []}
        elif one["kind"] == "ScaledObject":
            lag = [each["metadata"] for each in spec["triggers"] if each["type"] == "nats-jetstream"]
            found = {"least": spec.get("minReplicaCount", 0), "most": spec.get("maxReplicaCount", 100), "lag": lag}
        else:
            continue
        yield spec["scaleTargetRef"]["name"], found


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
    workloads = of_kind(resources, *WORKLOADS)
    return [name for name, one in workloads.items() if _labels(one).get(NAME) != name]


def secrets_inside(resources: list[Resource]) -> list[str]:
    return list(of_kind(resources, "Secret"))


def no_topology(resources: list[Resource]) -> list[str]:
    return [] if "topology" in of_kind(resources, "Job") else ["topology"]


def no_backup(resources: list[Resource]) -> list[str]:
    """It runs, never twice at once, ends, and takes everything in the order that a restore relies on."""
    found = of_kind(resources, "CronJob").get("backup", {}).get("spec", {})
    if not found or found.get("suspend") or found.get("concurrencyPolicy") != "Forbid":
        return ["backup"]
    pod = found["jobTemplate"]["spec"]["template"]["spec"]
    steps = [" ".join([*one["command"][1:], *one.get("args", [])]) for one in pod["initContainers"]]
    wanted = [f"nats.sh {' '.join(BACKED_UP_FIRST)}", "mongodb.sh", f"nats.sh {' '.join(BACKED_UP)}", "qdrant.sh"]
    claims = of_kind(resources, "PersistentVolumeClaim")
    kept = [one["persistentVolumeClaim"]["claimName"] for one in pod["volumes"] if "persistentVolumeClaim" in one]
    ends = "activeDeadlineSeconds" in found["jobTemplate"]["spec"]
    whole = [step.removeprefix("/scripts/") for step in steps][1:] == wanted
    return [] if whole and ends and kept and {*kept} <= set(claims) else ["backup"]


def restores_by_itself(resources: list[Resource]) -> list[str]:
    found = of_kind(resources, "CronJob").get("restore", {}).get("spec", {})
    return [] if found.get("suspend") is True else ["restore"]


def no_priority(resources: list[Resource]) -> list[str]:
    """Of those that the installation brings; servers have the highest."""
    classes = {name: one["value"] for name, one in of_kind(resources, "PriorityClass").items()}
    highest = max(classes.values(), default=0)
    servers = of_kind(resources, "StatefulSet")
    found = {name: classes.get(pod.get("priorityClassName", ""), 0) for name, pod in pods(resources)}
    return [name for name, value in found.items() if not value or (value == highest) != (name in servers)]


def wrong_wave(resources: list[Resource]) -> list[str]:
    """Of label and annotation alike; a job runs anew before each rollout."""
    expected = {name: number for number, names in enumerate(READERS_FIRST, 1) for name in names}
    wrong = []
    for one in resources:
        name = one["metadata"]["name"]
        wave = expected.get(name, 0) if one["kind"] in ("Deployment", "Job") else 0
        if one["kind"] in ("HorizontalPodAutoscaler", "ScaledObject"):
            wave = len(READERS_FIRST) + 1
        labels, notes = one["metadata"].get("labels", {}), one["metadata"].get("annotations", {})
        hooked = (HOOK in notes) == (one["kind"] == "Job")
        if (labels.get(WAVE), notes.get(SYNC_WAVE), hooked) != (str(wave), str(wave), True):
            wrong.append(f"{one['kind']} {name}")
    return wrong


def wrong_scaling(resources: list[Resource]) -> list[str]:
    """Never below two, never beside a fixed number, and by the lag of consumers that are the service's own."""
    deployed = of_kind(resources, "Deployment")
    own = {(one.stream, one.durable): one.service for one in consumers()}
    names = [name for name, _ in scalers(resources)]
    return [
        name
        for name, found in scalers(resources)
        if not AT_LEAST <= found["least"] < found["most"]
        or names.count(name) > 1
        or name == "scheduler"
        or "replicas" in deployed.get(name, {"spec": {"replicas": None}})["spec"]
        or any(own.get((each["stream"], each["consumer"])) != name for each in found["lag"])
    ]


def not_scaled(resources: list[Resource]) -> list[str]:
    """One dispatcher is enough: of the services only the scheduler isn't scaled."""
    return sorted({*SERVICES} - {"scheduler"} - {name for name, _ in scalers(resources)})


def not_from_a_store(resources: list[Resource]) -> list[str]:
    """Secrets that pods need. The key of a restore writes everything, and is made for one alone."""
    wanted = {name for _, pod in pods(resources) for kind, name in references(pod) if kind == "Secret"}
    optional = {f"nats-key-{name}" for name in (*SERVICES, "topology")}
    found = {one["spec"]["target"]["name"] for one in of_kind(resources, "ExternalSecret").values()}
    return sorted((wanted | optional) - {"nats-key-restore"} - found)


def from_outside(resources: list[Resource]) -> list[str]:
    """Images of more than one registry, or of a public one; ways out into the world."""
    images = {name: c["image"].partition("/")[0] for name, c in containers(resources)}
    foreign = [name for name, registry in images.items() if registry != images["trigger-gateway/service"]]
    public = [] if "." in images["trigger-gateway/service"] else ["trigger-gateway/service"]
    policies = of_kind(resources, "NetworkPolicy")
    return [
        *foreign,
        *public,
        *(name for name, one in policies.items() if re.search("cidr': '(0.0.0.0|::)/0", str(one))),
    ]


def _pod(workload: Resource) -> Resource:
    return dict(template(workload)["spec"])


def _labels(workload: Resource) -> dict[str, str]:
    return dict(template(workload)["metadata"]["labels"])


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
IN_PRODUCTION: dict[str, Rule] = {
    "default deny": no_default_deny,
    "secrets": secrets_inside,
    "backup": no_backup,
    "restore": restores_by_itself,
    "priority": no_priority,
    "waves": wrong_wave,
    "scaling": wrong_scaling,
}
"""What dev, a cluster that only its owner reaches, does without."""

OF_OVERLAY: Mapping[str, dict[str, Rule]] = {
    "production": {},
    "with-operators": {"scaled": not_scaled, "secrets from a store": not_from_a_store},
    "air-gapped": {"from outside": from_outside},
}
"""What holds for one of the overlays of production alone."""
