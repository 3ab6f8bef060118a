"""docker-compose.yml: every service is built, checked and started after what it needs."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from rota_common.nats_admin.config import KEY_FILE, main
from rota_contracts.catalog import SERVICES
from tests.deploy.variables import read_by
from tests.integration.first_hour.readme import blocks

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docker-compose.yml").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)["services"]
OF_CONNECTORS = {"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"}
OPERATIONS = (ROOT / "docs" / "operations.md").read_text()
PROMETHEUS = ROOT / "deploy" / "compose" / "prometheus.yml"
ONE_SHOTS = ("nats-config", "topology")
TOOLS = "tools"
"""Never started by `up`."""


@pytest.mark.parametrize("service", SERVICES)
def test_every_service_of_the_catalog_is_built_from_the_dockerfile(service: str) -> None:
    build = COMPOSE[service]["build"]
    assert (ROOT / build["context"] / "Dockerfile").is_file()
    assert build["args"] == {"SERVICE": service}


@pytest.mark.parametrize("name", sorted(set(COMPOSE) - {*ONE_SHOTS, TOOLS}))
def test_everything_that_stays_up_has_a_healthcheck_and_an_image_of_a_version(name: str) -> None:
    part = COMPOSE[name]
    assert part["healthcheck"]["test"][0] == "CMD"
    assert part["restart"] == "unless-stopped"
    assert "build" in part or re.search(r":v?\d+\.\d+", part["image"]), f"{part['image']}: name a version"


@pytest.mark.parametrize("name", COMPOSE)
def test_what_is_waited_for_can_happen(name: str) -> None:
    for needed, how in COMPOSE[name].get("depends_on", {}).items():
        if needed in ONE_SHOTS:
            assert how["condition"] == "service_completed_successfully"
            assert COMPOSE[needed]["restart"] == "on-failure", "what must complete must not be started for ever"
        else:
            assert how["condition"] == "service_healthy"
            assert "test" in COMPOSE[needed]["healthcheck"]


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_starts_only_after_the_streams_are_declared(service: str) -> None:
    assert "topology" in COMPOSE[service]["depends_on"]


@pytest.mark.parametrize("name", [*SERVICES, "topology"])
def test_each_client_of_nats_gets_only_its_own_key(name: str) -> None:
    mounted = [one for one in COMPOSE[name]["volumes"] if isinstance(one, str) and one.startswith(("key-", "nats-"))]
    assert mounted == [f"key-{name}:/run/nats:ro"]
    assert COMPOSE[name]["environment"]["ROTA_NATS_NKEY_FILE"] == f"/run/nats/{KEY_FILE}"
    assert f"key-{name}:/handed-out/{name}" in COMPOSE["nats-config"]["volumes"]


def test_nats_starts_with_the_configuration_that_was_written_and_sees_no_key(tmp_path: Path) -> None:
    written, nats = COMPOSE["nats-config"], COMPOSE["nats"]
    arguments = written["command"][written["command"].index("--out=/nats") :]
    given = [word.replace("/nats", str(tmp_path)).replace("/handed-out", str(tmp_path / "out")) for word in arguments]
    main([*given, f"--owner={os.getuid()}"])
    assert nats["command"] == ["--config", "/nats/nats.conf"]
    assert "nats-config:/nats:ro" in nats["volumes"]
    assert not [volume for volume in nats["volumes"] if volume.startswith("nats-keys")]
    assert (tmp_path / "nats.conf").exists()
    assert 'store_dir: "/data"' in (tmp_path / "nats.conf").read_text()
    for name in (*SERVICES, "topology"):
        key = tmp_path / "keys" / name / KEY_FILE
        assert (tmp_path / "out" / name / KEY_FILE).read_text() == key.read_text()


def test_images_that_are_built_have_a_tag_of_their_version() -> None:
    built = {name: part["image"] for name, part in COMPOSE.items() if "build" in part}
    tagged = re.compile(r"rota/[a-z-]+:\$\{ROTA_VERSION:-local\}")
    assert not [name for name, image in built.items() if not tagged.fullmatch(image)]


def test_the_documentation_names_every_image_that_is_pulled() -> None:
    pulled = {part["image"] for part in COMPOSE.values() if "build" not in part}
    assert not [image for image in sorted(pulled) if image not in OPERATIONS]


def test_the_tools_have_the_operators_keys_and_start_nothing_else() -> None:
    tools = COMPOSE[TOOLS]
    assert tools["profiles"] == [TOOLS]
    assert "depends_on" not in tools
    assert tools["restart"] == "no"
    for part in (tools, COMPOSE["nats-config"]):
        assert {"nats-config:/nats", "nats-keys:/nats/keys"} <= set(part["volumes"])
    assert tools["environment"]["ROTA_NATS_CONFIG"] == "/nats"
    assert (ROOT / tools["build"]["dockerfile"]).is_file()


def test_the_tools_hold_the_packages_that_their_requirements_are_made_of() -> None:
    wheels = (ROOT / COMPOSE[TOOLS]["build"]["dockerfile"]).read_text()
    named = re.search(r"^TOOLS := (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert named
    assert sorted(named[1].split()) == sorted(re.findall(r"\./services/([a-z-]+)", wheels))


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_is_given_only_variables_that_it_reads(service: str) -> None:
    assert set(COMPOSE[service]["environment"]) - OF_CONNECTORS <= read_by(service)


def test_every_variable_that_the_file_takes_is_explained_in_the_example() -> None:
    passed_on = {
        key for part in COMPOSE.values() for key, value in part.get("environment", {}).items() if value is None
    }
    explained = set(re.findall(r"^(?:# )?([A-Z_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))
    assert set(re.findall(r"(?<!\$)\$\{(\w+)", TEXT)) | passed_on == explained


def test_prometheus_asks_every_service_at_the_port_that_takes_no_key() -> None:
    ours = next(job for job in yaml.safe_load(PROMETHEUS.read_text())["scrape_configs"] if job["job_name"] == "rota")
    ports = {service: COMPOSE[service]["environment"].get("ROTA_INTERNAL_PORT", "8080") for service in SERVICES}
    assert sorted(ours["static_configs"][0]["targets"]) == sorted(f"{name}:{port}" for name, port in ports.items())


def test_what_is_mounted_from_the_checkout_is_there() -> None:
    mounted = [each for part in COMPOSE.values() for each in part.get("volumes", []) if isinstance(each, str)]
    missing = [each for each in mounted if each.startswith("./") and not (ROOT / each.partition(":")[0]).exists()]
    assert not missing, "\n".join(missing)


def test_promtool_accepts_the_configuration_of_prometheus() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("no promtool on PATH: it comes with Prometheus")
    checked = subprocess.run([promtool, "check", "config", PROMETHEUS], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_first_webhook_is_five_lines_away_and_reaches_this_machine() -> None:
    (block,) = [one for one in blocks((ROOT / "README.md").read_text()) if one.section == "Run it in containers"]
    lines = block.commands.splitlines()
    assert len(lines) <= 5
    assert ".env.example > .env && docker compose up" in lines[0]
    assert "host.docker.internal:host-gateway" in COMPOSE["delivery-center"]["extra_hosts"]
    key = re.search(r"^ROTA_ADMIN_KEY=(.+)$", (ROOT / ".env.example").read_text(), re.MULTILINE)
    assert key
    assert f"ROTA_ADMIN_KEY={key[1]} " in block.commands
