"""The production overlay is shut: who reaches whom, who asks for a password, what goes over TLS."""

import re
from itertools import product

import pytest

from rota_common.mongo_setup import BACKUP, OWNERS
from rota_contracts.catalog import SERVICES
from tests.deploy.manifests import K8S, Resource, kustomize, of_kind, pods, references
from tests.deploy.variables import read_by

BACKUP_USER = "mongo-user-backup"
WITH_DATABASE = [service for service in SERVICES if service != "validator"]
NAME = "app.kubernetes.io/name"
JOBS = {"backup", "restore"}
INGRESS, PROMETHEUS, TEAM, STRANGER = "ingress-nginx/any", "monitoring/prometheus", "team-programs/any", "other/any"
OUTSIDE = {
    INGRESS: {"kubernetes.io/metadata.name": "ingress-nginx"},
    PROMETHEUS: {"kubernetes.io/metadata.name": "monitoring"},
    TEAM: {"kubernetes.io/metadata.name": "team-programs", "rota/nats-clients": "allowed"},
    STRANGER: {"kubernetes.io/metadata.name": "other"},
}
REACHED = {
    ("nats", 4222): {*SERVICES, "topology", *JOBS, TEAM},
    ("nats", 6222): {"nats"},
    ("nats", 8222): {PROMETHEUS},
    ("mongo", 27017): {*WITH_DATABASE, "mongo-setup", "mongo", *JOBS},
    ("qdrant", 6333): {"memory", *JOBS},
    ("qdrant", 6334): set(),
    ("trigger-gateway", 8080): {INGRESS},
    ("trigger-gateway", 8081): {PROMETHEUS},
    **{(service, 8080): {PROMETHEUS} for service in SERVICES if service != "trigger-gateway"},
}


@pytest.fixture(scope="module")
def resources() -> list[Resource]:
    return kustomize(K8S / "overlays" / "production")


def selects(selector: Resource, labels: dict[str, str]) -> bool:
    wanted = selector.get("matchLabels", {}).items() <= labels.items()
    for rule in selector.get("matchExpressions", []):
        assert rule["operator"] == "In", "this test knows no other operator"
        wanted = wanted and labels.get(rule["key"]) in rule["values"]
    return bool(wanted)


def peer_is(peer: Resource, who: str) -> bool:
    """Is `who`, a pod of the namespace or `NAMESPACE/POD`, meant by the peer of a rule?"""
    namespace, _, pod = who.rpartition("/")
    if "ipBlock" in peer:
        return peer["ipBlock"]["cidr"] == "0.0.0.0/0"  # any address, the cluster's too
    if "namespaceSelector" in peer:
        if not namespace or not selects(peer["namespaceSelector"], OUTSIDE[who]):
            return False
    elif namespace:
        return False
    return selects(peer.get("podSelector", {}), {NAME: pod})


def lets(policies: list[Resource], pod: str, direction: str, other: str, port: int) -> bool:
    """Does one of the pod's policies let the other through? True for a pod that no policy of this direction selects."""
    of_pod = [one["spec"] for one in policies if selects(one["spec"]["podSelector"], {NAME: pod})]
    shut = [one for one in of_pod if direction.capitalize() in one["policyTypes"]]
    ends = "from" if direction == "ingress" else "to"
    return not shut or any(
        any(peer_is(peer, other) for peer in rule.get(ends, [{}]))
        and any(one.get("port") == port for one in rule.get("ports", [{"port": port}]))
        for one in shut
        for rule in one.get(direction, [])
    )


def test_every_port_is_reached_by_those_who_need_it_and_no_other(resources: list[Resource]) -> None:
    policies = list(of_kind(resources, "NetworkPolicy").values())
    found = dict(pods(resources))
    ports = {
        (pod, one["containerPort"])
        for pod, spec in found.items()
        for c in spec["containers"]
        for one in c.get("ports", [])
    }
    assert ports == set(REACHED)
    wrong = []
    for (pod, port), who in product(sorted(ports), (*found, *OUTSIDE, "any-other-pod")):
        reaches = lets(policies, pod, "ingress", who, port)
        if "/" not in who:
            reaches = reaches and lets(policies, who, "egress", pod, port)
        if reaches != (who in REACHED[pod, port]):
            wrong.append(f"{who} {'reaches' if reaches else 'does not reach'} {pod}:{port}")
    assert not wrong, "\n".join(wrong)


def test_only_who_calls_others_reaches_the_world_and_none_the_clouds_metadata(resources: list[Resource]) -> None:
    policies = list(of_kind(resources, "NetworkPolicy").values())
    world = {pod for pod, _ in pods(resources) if lets(policies, pod, "egress", STRANGER, 443)}
    assert world == {"trigger-gateway", "executor", "delivery-center"}
    blocks = re.findall(r"'cidr': '0\.0\.0\.0/0', 'except': \['169\.254\.0\.0/16'\]", str(policies))
    assert len(blocks) == str(policies).count("0.0.0.0/0") == 1


def test_mongodb_asks_for_passwords_over_tls_alone(resources: list[Resource]) -> None:
    (container,) = of_kind(resources, "StatefulSet")["mongo"]["spec"]["template"]["spec"]["containers"]
    needed = {"--auth", "--keyFile=/run/mongo/key", "--tlsMode=requireTLS", "--tlsCAFile=/etc/mongo-tls/ca.crt"}
    assert needed <= set(container["command"])
    assert "--setParameter=enableLocalhostAuthBypass=false" in container["command"]
    settings = shared_settings(resources)
    assert "tls=true&tlsCAFile=/run/ca/ca.crt" in settings["ROTA_MONGO_URL"]
    assert settings["ROTA_MONGO_PASSWORD_FILE"] == "/run/mongo/password"


def test_each_service_has_its_own_password_of_mongodb_and_no_other(resources: list[Resource]) -> None:
    given = {pod: {name for _, name in references(spec) if name.startswith("mongo-")} for pod, spec in pods(resources)}
    expected = {service: {f"mongo-user-{service}"} for service in WITH_DATABASE}
    users = {f"mongo-user-{service}" for service in WITH_DATABASE}
    expected |= {"mongo": {"mongo-key", "mongo-tls"}, "mongo-setup": {"mongo-key", BACKUP_USER, *users}}
    expected |= {"backup": {BACKUP_USER}, "restore": {"mongo-key"}}
    assert {pod: names for pod, names in given.items() if names} == expected


def test_the_users_are_made_of_every_services_password(resources: list[Resource]) -> None:
    spec = dict(pods(resources))["mongo-setup"]
    (users,) = [volume["projected"]["sources"] for volume in spec["volumes"] if "projected" in volume]
    assert {item["path"] for source in users for item in source["secret"]["items"]} == {*OWNERS, BACKUP}


def test_nats_is_reached_over_tls_alone_by_services_and_by_other_members(resources: list[Resource]) -> None:
    maps = of_kind(resources, "ConfigMap")
    (files,) = [one["data"] for name, one in maps.items() if name.startswith("nats-")]
    for file in ("secured.conf", "cluster.conf"):
        assert re.search(r"tls \{[^}]*cert_file: /etc/nats-tls/tls.crt", files[file]), file
    assert re.search(r"cluster \{.*tls \{[^}]*ca_file: /etc/nats-tls/ca.crt", files["cluster.conf"], re.DOTALL)
    settings = shared_settings(resources)
    assert (settings["ROTA_NATS_URL"], settings["ROTA_NATS_CA_FILE"]) == ("tls://nats:4222", "/run/ca/ca.crt")
    for pod, spec in pods(resources):
        if pod in (*SERVICES, *JOBS, "topology", "mongo-setup"):
            assert ("ConfigMap", "rota-ca") in references(spec), f"{pod} can't check whom it speaks to"


def test_qdrant_asks_for_the_key_that_the_memory_shows(resources: list[Resource]) -> None:
    found = dict(pods(resources))
    shown = [("qdrant", "QDRANT__SERVICE__API_KEY"), ("memory", "ROTA_QDRANT_API_KEY")]
    for pod, variable in (*shown, *((job, "QDRANT_API_KEY") for job in sorted(JOBS))):
        everyone = [*found[pod].get("initContainers", []), *found[pod]["containers"]]
        (given,) = [one for each in everyone for one in each.get("env", []) if one["name"] == variable]
        assert given["valueFrom"]["secretKeyRef"] == {"name": "qdrant-key", "key": "api-key"}
    assert "ROTA_QDRANT_API_KEY" in read_by("memory")
    given_it = {pod for pod, spec in found.items() if ("Secret", "qdrant-key") in references(spec)}
    assert given_it == {"memory", "qdrant", *JOBS}


def shared_settings(resources: list[Resource]) -> dict[str, str]:
    maps = of_kind(resources, "ConfigMap")
    return next(one["data"] for name, one in maps.items() if re.fullmatch(r"rota-(?!ca$)[a-z0-9]+", name))
