"""MCP servers: what an operator writes, and what becomes of it."""

from pathlib import Path

import pytest

from executor.adapters.in_memory import InMemoryFiles
from executor.adapters.mcp_servers import Http, MCPFileError, Server, Stdio, load_servers
from executor.adapters.mcp_tools import NAME_LIMIT, McpTools, model_names
from executor.tool_ports import NotBegun, ToolFailed
from rota_common.errors import Transient
from rota_common.testing.samples import a_robot
from rota_common.testing.team_secrets import InMemoryTeamSecrets
from rota_contracts.messages.conversation import ToolUse

SECRET = "s3cret"
PROGRAM = """
label: Time
teams: "*"
transport: stdio
command: python
args: [-m, mcp_server_time, --port, 8080]
env: {TOKEN: $ENV.MY_TOKEN, LEVEL: 3}
"""
REMOTE = """
label: Images
teams: [acme]
transport: http
url: $ENV.IMAGES_URL
headers: {Authorization: $ENV.IMAGES_AUTH}
timeout: 5
idempotent: [generate]
"""
ENVIRON = {"MY_TOKEN": SECRET, "IMAGES_URL": "https://images.example/mcp", "IMAGES_AUTH": f"Bearer {SECRET}"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "time.yaml").write_text(PROGRAM)
    (tmp_path / "ark.image.text2img.yaml").write_text(REMOTE)
    (tmp_path / "notes.md").write_text("not a server")
    return tmp_path


def test_servers_are_named_after_their_files_and_secrets_come_from_the_environment(folder: Path) -> None:  # EX-19
    servers = load_servers(folder, ENVIRON)
    assert servers == {
        "time": Server(
            "time",
            "Time",
            Stdio("python", ("-m", "mcp_server_time", "--port", "8080"), {"TOKEN": SECRET, "LEVEL": "3"}),
            keys=frozenset({SECRET}),
        ),
        "ark.image.text2img": Server(
            "ark.image.text2img",
            "Images",
            Http("https://images.example/mcp", {"Authorization": f"Bearer {SECRET}"}),
            5.0,
            frozenset({"generate"}),
            teams=frozenset({"acme"}),
            keys=frozenset({"https://images.example/mcp", f"Bearer {SECRET}"}),
        ),
    }
    assert SECRET not in repr(servers)


def test_the_example_can_be_used() -> None:
    (server,) = load_servers(Path(__file__).parents[3] / "examples" / "mcp", {}).values()
    assert (server.id, server.problem, server.is_idempotent("get_current_time", hinted=False)) == ("time", "", True)


def test_a_missing_secret_is_a_problem_of_that_server_alone(folder: Path) -> None:
    servers = load_servers(folder, {"MY_TOKEN": SECRET})
    assert servers["time"].problem == ""
    assert "expected the environment variable IMAGES_URL" in servers["ark.image.text2img"].problem


def test_without_a_folder_there_are_no_servers() -> None:
    assert load_servers(None, {}) == {}


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(MCPFileError, match="expected a folder of MCP servers .* in ROTA_MCP_DIR"):
        load_servers(tmp_path / "nowhere", {})


def test_a_file_that_can_not_be_read_is_named_with_the_field(folder: Path, subtests: pytest.Subtests) -> None:
    cases = [
        ("label: [", "is not YAML: .*, line 1"),
        ("", "transport: "),
        ("label: X\nteams: [a]\ntransport: pigeon\n", "transport: "),
        ("label: X\nteams: [a]\ntransport: stdio\n", "command: Field required"),
        ("label: X\nteams: [a]\ntransport: stdio\ncommand: x\nurl: https://x\n", "url: Extra inputs are not permitted"),
        ("label: X\nteams: [a]\ntransport: http\nurl: images.example\n", "url: String should match pattern"),
        (
            "label: X\nteams: [a]\ntransport: http\nurl: https://x\ntimeout: 0\n",
            "timeout: Input should be greater than 0",
        ),
        (
            "label: X\nteams: [a]\ntransport: http\nurl: https://x\nheaders: {A: [1]}\n",
            "headers.A: Input should be a valid string",
        ),
        (
            "label: X\nteams: [a]\ntransport: http\nurl: https://x\nheaders: {A: Bearer $ENV.TOKEN}\n",
            r"headers.A: expected \$ENV\.NAME to be the whole value",
        ),
        ("label: X\ntransport: http\nurl: https://x\n", "teams: .*expected the teams that may use it"),
        (
            "label: X\nteams: [a]\ntransport: http\nurl: $SECRET.URL\nstateless: true\n",
            r"stateless: expected false, because \$SECRET\.URL",
        ),
    ]
    for text, reason in cases:
        with subtests.test(text=text, reason=reason):
            (folder / "broken.yaml").write_text(text)
            with pytest.raises(MCPFileError, match=rf"^broken\.yaml of the MCP servers .*{reason}"):
                load_servers(folder, ENVIRON)


@pytest.mark.parametrize(
    "text",
    [
        f"label: X\nteams: [a]\ntransport: http\nurl: {SECRET}\n",
        f"label: X\nteams: [a]\ntransport: http\nurl: '{SECRET}\n",
    ],
)
def test_an_error_shows_no_value(folder: Path, text: str) -> None:
    (folder / "broken.yaml").write_text(text)
    with pytest.raises(MCPFileError) as raised:
        load_servers(folder, ENVIRON)
    assert SECRET not in str(raised.value)


def test_names_for_models_are_safe_short_and_all_different() -> None:
    tools = [
        ("ark.image", "make it"),
        ("ark_image", "make it"),
        ("time", "now"),
        ("s" * 60, "tool"),
        ("s" * 60, "took"),
    ]
    names = model_names(tools)
    assert names["time", "now"] == "time__now"
    assert len(set(names.values())) == len(tools)
    assert all(
        len(name) <= NAME_LIMIT and name.replace("-", "_").replace("_", "a").isalnum() for name in names.values()
    )
    assert names["ark.image", "make it"].startswith("ark_image__make_it_")
    assert model_names(reversed(tools)) == names


async def test_a_server_is_for_the_teams_that_its_file_names_when_it_is_listed_and_when_it_is_called() -> None:
    """Called for another team, it would fail to start: its program isn't there."""
    server = Server("beta-crm", "CRM", Stdio("/nowhere"), teams=frozenset({"beta"}))
    tools = McpTools({"beta-crm": server}, secrets=InMemoryTeamSecrets(), files=InMemoryFiles())
    named = a_robot(config={"resources": {"mcp": [{"id": "beta-crm"}]}})
    assert await tools.list(named) == []
    use = ToolUse(step_id="s", name="beta-crm__read", server="beta-crm", tool="read", arguments={})
    with pytest.raises(ToolFailed, match="MCP server beta-crm isn't for team acme"):
        await tools.call(use, team="acme")


async def test_a_servers_secrets_are_those_of_the_team_that_calls() -> None:
    server = Server("crm", "CRM", Http("$SECRET.CRM_URL", {"Authorization": "$SECRET.CRM_TOKEN", "X-A": "a"}))
    values = {"$SECRET.CRM_URL": "https://acme.example/mcp", "$SECRET.CRM_TOKEN": "Bearer t"}
    assert sorted(server.references) == sorted(values)
    made = server.for_team(values)
    assert made.transport == Http("https://acme.example/mcp", {"Authorization": "Bearer t", "X-A": "a"})
    tools = McpTools(
        {"crm": server},
        secrets=InMemoryTeamSecrets({"beta": {"CRM_URL": "x", "CRM_TOKEN": "y"}}),
        files=InMemoryFiles(),
    )
    use = ToolUse(step_id="s", name="crm__read", server="crm", tool="read", arguments={})
    with pytest.raises(ToolFailed, match="the secret CRM_URL of team acme .*`rota secrets set CRM_URL`"):
        await tools.call(use, team="acme")
    robot = a_robot(config={"resources": {"mcp": [{"id": "crm"}]}})
    assert await tools.list(robot) == []
    (problem,) = tools.problems(robot)
    assert "the secret CRM_URL of team acme" in problem
    away = InMemoryTeamSecrets()
    away.away = Transient("no gateway is there")
    with pytest.raises(NotBegun, match="no gateway is there"):
        await McpTools({"crm": server}, secrets=away, files=InMemoryFiles()).call(use, team="acme")
    with pytest.raises(NotBegun, match="no gateway is there"):  # the step waits, and goes on with all its tools
        await McpTools({"crm": server}, secrets=away, files=InMemoryFiles()).list(robot)
