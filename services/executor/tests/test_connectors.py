"""Connectors: which model, where, with which key."""

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from executor.agents.connectors import ANY, Connectors
from executor.agents.operator_files import ConnectorFileError
from executor.app import warn_of_unusable
from rota_common.errors import Permanent
from rota_contracts.messages.provider import Capability, ConnectorOptions

KEY = "sk-very-secret"
MINE = """
label: Mine
teams: [acme]
type: openai
options:
  model: $ENV.MY_MODEL
  key: $ENV.MY_KEY
  host: http://localhost:11434/v1
  capabilities: {tool_calls: true, vision: openai}
  parameters: {max_tokens: 100}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.yaml").write_text(MINE)
    return tmp_path


def test_references_to_the_environment_are_resolved(folder: Path) -> None:  # CL-10 CL-11
    connector = Connectors("mine", environ={"MY_KEY": KEY, "MY_MODEL": "small"}, folder=folder).of("acme").choose()
    assert (connector.id, connector.label, connector.type) == ("mine", "Mine", "openai")
    assert (connector.model, connector.key, connector.host) == ("small", KEY, "http://localhost:11434/v1")
    assert connector.parameters == {"max_tokens": 100}


def test_a_connector_can_what_its_file_does_not_deny(folder: Path) -> None:  # CL-11 CL-16
    (folder / "plain.yaml").write_text(
        "label: P\nteams: '*'\ntype: openai\noptions: {capabilities: {tool_calls: false}}\n"
    )
    connectors = Connectors("mine", environ={"MY_KEY": KEY}, folder=folder)
    mine, plain = connectors.of("acme").choose(), connectors.of("acme").choose("plain")
    assert (mine.can("tool_calls"), mine.can("vision"), mine.can("audio")) == (True, True, True)
    assert (plain.can("tool_calls"), plain.can("vision")) == (False, True)


def test_capabilities_are_those_of_the_models_file_then_of_the_connector_then_the_usual_ones(folder: Path) -> None:
    # CL-15
    (folder / "models.yml").write_text("mine: {vision: claude, audio: false}\nanthropic: {reasoning: true}\n")
    connectors = Connectors("mine", environ={"MY_KEY": KEY, "ANTHROPIC_API_KEY": "b"}, folder=folder)
    mine, theirs = connectors.of("acme").choose(), connectors.of("acme").choose("anthropic")
    eight = {"tool_calls", "vision", "audio", "reasoning", "streaming", "json", "multimodal", "temperature_adjustable"}
    assert mine.capabilities.keys() == theirs.capabilities.keys() == eight  # CL-13
    assert (mine.capabilities["vision"], mine.can("audio"), mine.can("tool_calls"), mine.can("json")) == (
        "claude",
        False,
        True,
        False,
    )
    assert (theirs.can("reasoning"), theirs.can("audio"), theirs.can("vision")) == (True, False, True)


def test_a_models_file_that_can_not_be_read_is_named(folder: Path, subtests: pytest.Subtests) -> None:
    cases = [
        ("mine: [", r"models\.yml can't be read"),
        ("mine: {visoin: true}", r"models\.yml can't be read.*expected capabilities, of tool_calls, .*, got visoin"),
        ("mine: {vision: gemini}", r"capability vision to be true or false, openai or claude, got 'gemini'"),
        ("mine: {audio: openai}", r"capability audio to be true or false, got 'openai'"),
        ("yours: {audio: true}", r"models\.yml names yours: expected connectors"),
    ]
    for text, reason in cases:
        with subtests.test(text=text):
            (folder / "models.yml").write_text(text)
            with pytest.raises(ConnectorFileError, match=rf"(?s){reason}"):
                Connectors("mine", environ={}, folder=folder)


def test_the_connectors_of_a_team_are_those_that_can_all_that_is_asked_for(folder: Path) -> None:  # CL-12 CL-13
    (folder / "plain.yaml").write_text(
        "label: P\nteams: '*'\ntype: openai\noptions: {capabilities: {tool_calls: false}}\n"
    )
    connectors = Connectors("mine", environ={}, folder=folder)

    def ids(team: str, offered: ConnectorOptions = ANY, *filters: Capability) -> list[str]:
        return [each.id for each in connectors.of(team).providers(offered, filters)]

    assert ids("acme") == ["anthropic", "mine", "openai", "plain", "rehearsal"]
    assert ids("globex") == ["anthropic", "openai", "plain", "rehearsal"]
    assert ids("acme", ANY, Capability.TOOL_CALLS, Capability.JSON) == ["openai"]
    assert ids("acme", ConnectorOptions(connectors=["mine", "plain"])) == ["mine", "plain"]
    assert ids("acme", ConnectorOptions(connectors=["mine", "plain"], filters=[Capability.TOOL_CALLS])) == ["mine"]
    found = {each.id: each for each in connectors.of("acme").providers()}
    assert (found["mine"].default, found["openai"].default) == (True, False)
    assert "MY_KEY" in found["mine"].problem
    assert "localhost" not in repr(found)  # no address is anybody's but the operator's


def test_a_key_is_never_shown(folder: Path) -> None:
    connector = Connectors("mine", environ={"MY_KEY": KEY}, folder=folder).of("acme").choose()
    assert connector.key == KEY
    assert KEY not in f"{connector!r} {connector}"


def test_a_missing_key_is_named_when_the_connector_is_used(folder: Path) -> None:  # CL-10
    connectors = Connectors("mine", environ={}, folder=folder)
    with pytest.raises(Permanent, match=r"connector mine can't be used: expected the environment variable MY_KEY"):
        connectors.of("acme").choose()
    assert connectors.of("acme").choose("rehearsal").type == "rehearsal"  # the others work all the same


async def test_a_start_says_that_the_default_connector_lacks_its_key() -> None:
    for connector, key, warned in (
        ("openai", "", True),
        ("openai", "a", False),
        ("rehearsal", "", False),
        ("", "", False),
    ):
        environ = {"OPENAI_API_KEY": key}
        with capture_logs() as lines:
            await warn_of_unusable(Connectors(connector, environ=environ))
        assert [line["log_level"] for line in lines] == ["warning"] * warned
        if warned:
            assert lines[0]["connector"] == "openai"
            assert "expected the environment variable OPENAI_API_KEY" in lines[0]["reason"]


def test_the_calls_connector_goes_before_the_agents_and_the_default(folder: Path) -> None:  # CL-10
    environ = {"MY_KEY": KEY, "OPENAI_API_KEY": "a", "ANTHROPIC_API_KEY": "b"}
    connectors = Connectors("mine", environ=environ, folder=folder)
    assert connectors.of("acme").choose("openai", "anthropic").id == "openai"
    assert connectors.of("acme").choose("", "anthropic").id == "anthropic"
    assert connectors.of("acme").choose("", "").id == "mine"


def test_without_any_connector_the_reason_says_what_to_set() -> None:
    with pytest.raises(Permanent, match="set ROTA_CONNECTOR to one of anthropic, openai, rehearsal"):
        Connectors("", environ={}).of("acme").choose("", "")


def test_a_connector_that_is_not_there_is_refused_with_the_names() -> None:
    with pytest.raises(Permanent, match="one of anthropic, openai, rehearsal, not 'gpt'"):
        Connectors("rehearsal", environ={}).of("acme").choose("gpt")


def test_the_built_in_connectors_have_models_of_their_own() -> None:  # CL-11
    connectors = Connectors("", environ={"OPENAI_API_KEY": "a", "ANTHROPIC_API_KEY": "b", "ANTHROPIC_MODEL": "chosen"})
    assert connectors.of("acme").choose("openai").model != ""
    assert connectors.of("acme").choose("openai").host == ""
    assert connectors.of("acme").choose("anthropic").model == "chosen"


def test_the_files_of_a_folder_go_before_the_built_in_ones(folder: Path) -> None:
    (folder / "openai.yaml").write_text("label: Ours\nteams: [acme]\ntype: rehearsal\n")
    assert Connectors("openai", environ={}, folder=folder).of("acme").choose().label == "Ours"


def test_a_file_that_can_not_be_read_is_named(folder: Path, subtests: pytest.Subtests) -> None:
    cases = [
        "label: [",
        "",
        "label: X\nteams: [a]\ntype: telepathy\n",
        "label: X\nteams: [a]\ntype: openai\noptions: {kee: x}\n",
        "teams: [a]\ntype: openai\n",
    ]
    for text in cases:
        with subtests.test(text=text):
            (folder / "broken.yaml").write_text(text)
            with pytest.raises(ConnectorFileError, match=r"connector file broken\.yaml can't be read"):
                Connectors("mine", environ={}, folder=folder)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConnectorFileError, match="expected a folder of connector files"):
        Connectors("mine", environ={}, folder=tmp_path / "nowhere")


def test_a_connector_is_for_the_teams_that_its_file_names(folder: Path) -> None:
    connectors = Connectors("mine", environ={"MY_KEY": KEY}, folder=folder)
    for wanted in ("", "mine"):
        with pytest.raises(Permanent, match="connector mine isn't for team globex"):
            connectors.of("globex").choose(wanted)
    assert connectors.of("globex").choose("rehearsal").id == "rehearsal"
    with pytest.raises(Permanent) as caught:
        connectors.of("globex").choose("gpt")
    assert "mine" not in str(caught.value)


def test_a_file_without_teams_is_refused(folder: Path, subtests: pytest.Subtests) -> None:
    for teams in ["", "teams: []\n", "teams: 3\n", "teams: [3]\n"]:
        with subtests.test(teams=teams):
            (folder / "open.yaml").write_text(f"label: P\n{teams}type: openai\n")
            with pytest.raises(ConnectorFileError, match=r"(?s)open\.yaml .*expected the teams that may use it"):
                Connectors("mine", environ={}, folder=folder)


def test_a_connector_has_a_window_of_its_own_or_the_default(folder: Path) -> None:  # EX-81 EX-73
    (folder / "small.yaml").write_text(
        "label: S\nteams: '*'\ntype: openai\noptions: {context_window: 32000, max_history_share: 0.5}\n"
    )
    (folder / "none.yaml").write_text("label: N\nteams: '*'\ntype: openai\noptions: {context_window: -1}\n")
    connectors = Connectors("mine", environ={"MY_KEY": KEY}, folder=folder)
    found = {name: connectors.of("acme").choose(name) for name in ("mine", "small", "none")}
    windows = {name: (each.window, each.history_share) for name, each in found.items()}
    assert windows == {"mine": (200_000, 0.75), "small": (32_000, 0.5), "none": (200_000, 0.75)}
