"""Skills: folders of the operator and definitions of a team, offered to the agents that name them, and read."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from services.executor.tests.fixtures import EQUIPPED, REPORT, a_task, at, new_run, with_tasks
from services.executor.tests.harness import StepHarness, calls

from executor.adapters.in_memory import ScriptedModel, ScriptedTools
from executor.adapters.recording_tools import RecordingProcesses, RecordingTools
from executor.agents.agent_file import AgentFileError
from executor.agents.connectors import Connectors
from executor.agents.prompt_files import Agents
from executor.agents.skill_files import SkillFileError, Skills, beside
from executor.domain.run import Run
from executor.domain.skills import Skill
from executor.steps.call_runner import Toolset
from executor.tools.registry import Registry
from executor.tools.robot_tools import RobotTools
from executor.tools.searches import LONGEST, SearchTools
from rota_common.testing.samples import TEAM
from rota_contracts.definitions.definition import DefinitionKind
from rota_contracts.messages.conversation import ToolStatus, ToolUse
from rota_contracts.messages.trigger import ExecutorMode
from rota_contracts.robots.resources import BuiltInTool
from rota_contracts.robots.robot import Phase, Robot
from rota_contracts.roles import Role

AGENT, SKILL = DefinitionKind.AGENT, DefinitionKind.SKILL
OTHER, SEARCH = "globex", "skill_search"
OFFERS: Mapping[str, Any] = {
    "description": "How offers\nare written. Use it for every offer.",
    "text": "End with the word Cordially. Prices: references/prices.md",
    "files": {"references/prices.md": "A wheel costs 7."},
    "allowed-tools": "crm__lookup",
}
HEAD = "name: offers\ndescription: How offers are written\n"
FOR_ALL = "metadata: {teams: '*'}\n"
TASK = a_task(1, executor_id="experts.writer")


def write(folder: Path, front: str, text: str = "Write.", *, name: str = "offers", **files: str) -> Path:
    path = folder / "skills" / name
    path.mkdir(parents=True, exist_ok=True)
    (path / "SKILL.md").write_text(f"---\n{front}---\n{text}")
    for file, content in files.items():
        (path / file).write_text(content)
    return path


FORMS: Mapping[str, tuple[str, str]] = {
    "all fields": (f"{HEAD}license: MIT\ncompatibility: any\nallowed-tools: Read Bash\n{FOR_ALL}", ""),
    "values that are no texts": (f"{HEAD}metadata: {{teams: [acme], version: 1.0, of: 2026-01-02, beta: true}}\n", ""),
    "teams as a text": (f"{HEAD}metadata: {{teams: 'acme, globex'}}\n", ""),
    "teams at the top": (f"{HEAD}teams: [acme]\n", ""),
    "no name": (f"description: How offers are written\n{FOR_ALL}", ""),
    "another name": (
        f"name: offer\ndescription: x\n{FOR_ALL}",
        "name: expected offers, that of its folder, got 'offer'",
    ),
    "no description": (f"name: offers\n{FOR_ALL}", "description: Field required"),
    "a long description": (f"name: offers\ndescription: {'x' * 1025}\n{FOR_ALL}", "description: .* at most 1024 char"),
    "a long compatibility": (f"{HEAD}compatibility: {'x' * 501}\n{FOR_ALL}", "compatibility: .* at most 500 char"),
    "a list in metadata": (
        f"{HEAD}metadata: {{teams: '*', for: [a]}}\n",
        "metadata.for: Input should be a valid str",
    ),
    "no teams": (
        HEAD,
        "teams, or metadata.teams: expected the teams that may use it, like .*, got None",
    ),
    "an unknown field": (f"{HEAD}licence: MIT\n{FOR_ALL}", "licence: Extra inputs"),
    "no mapping": ("- name\n", "expected the front matter to be a mapping"),
    "no YAML": ("{\n", "expected YAML between the two lines of ---"),
}


def skills_of(folder: Path, team: str = TEAM) -> list[Skill]:
    return Skills(beside(folder)).of(team)


def test_a_skills_folder_has_the_open_form_and_a_mistake_names_file_field_and_mend(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    for about, (front, expected) in FORMS.items():
        with subtests.test(about):
            write(tmp_path, front)
            if not expected:
                assert [skill.description for skill in skills_of(tmp_path, "acme")] == ["How offers are written"]
                continue
            with pytest.raises(SkillFileError, match=f"(?s)^offers/SKILL.md can't be read: {expected}"):
                skills_of(tmp_path)
    for name in ("Offers", "-offers", "a--b", "o" * 65, "of.fers"):
        folder = tmp_path / name
        write(folder, f"name: {name}\ndescription: x\n{FOR_ALL}", name=name)
        with subtests.test(name), pytest.raises(SkillFileError, match="its folder: expected the name of a skill"):
            skills_of(folder)
    write(tmp_path, HEAD + FOR_ALL)
    (tmp_path / "skills" / "bills").mkdir()
    with pytest.raises(SkillFileError, match="expected bills/SKILL.md: each folder of skills has one"):
        skills_of(tmp_path)


def test_a_folder_is_read_with_its_texts_and_nothing_outside_of_it(tmp_path: Path) -> None:
    path = write(tmp_path, HEAD + FOR_ALL, **{"form.md": "A form.", ".hidden": "No."})
    (path / "references").mkdir()
    (path / "references" / "prices.md").write_text("7")
    assert skills_of(tmp_path)[0].files == {"form.md": "A form.", "references/prices.md": "7"}
    (tmp_path / "secret").write_text("secret")
    (path / "link.md").symlink_to(tmp_path / "secret")
    with pytest.raises(SkillFileError, match="expected files of the folder alone; link.md leads out of it"):
        skills_of(tmp_path)


def test_an_agents_file_names_skills_that_are_there_for_all_its_teams(tmp_path: Path) -> None:
    write(tmp_path, f"{HEAD}metadata: {{teams: {TEAM}}}\n")
    file, skills = tmp_path / "experts.writer.md", Skills(beside(tmp_path))
    for teams, skill, missing in (
        (f"[{TEAM}, {OTHER}]", "offers", "offers for team globex"),
        ("'*'", "bills", "bills"),
    ):
        file.write_text(f"---\nteams: {teams}\nskills: [{skill}]\n---\nI write.")
        with pytest.raises(AgentFileError, match=rf"skills in experts.writer.md: there is no skill {missing}.*: add"):
            Agents(tmp_path).check_skills(skills)
    file.write_text(f"---\nteams: {TEAM}\nskills: [offers]\n---\nI write.")
    Agents(tmp_path).check_skills(skills)
    assert skills.of(OTHER) == [], "as if it weren't there"


class Shop:
    """A team's writer and its skills."""

    def __init__(self, model: ScriptedModel, tmp_path: Path | None = None) -> None:
        self.model = model
        connectors = None if tmp_path is None else Connectors("small", environ={}, folder=tmp_path)
        self.harness = StepHarness(model, connectors=connectors)
        self.definitions = self.harness.definitions
        unused: Any = None
        searches = SearchTools(ask=unused)
        registry = Registry({BuiltInTool.SKILL_SEARCH: searches.skill}, searches.used())
        real = Toolset(RobotTools(mcp=ScriptedTools(), registry=registry), self.harness.processes)
        recording = RobotTools(mcp=RecordingTools({}), registry=registry, recorded=True)
        runner = replace(self.harness.run_step.calls, real=real, recording=Toolset(recording, RecordingProcesses()))
        self.harness.run_step = replace(self.harness.run_step, calls=runner)

    def write(self, skills: Mapping[str, Mapping[str, Any]], *, named: list[str] | None = None, **agent: Any) -> Run:
        """A run that begins with the set that this makes; the writer has the skills that are `named`, else all."""
        writer = {"prompt": "I write.", "skills": [*skills] if named is None else named, **agent}
        made = [(SKILL, name, {**spec}) for name, spec in skills.items()]
        rev = self.definitions.write(TEAM, (AGENT, "experts.writer", writer), *made)
        return with_tasks(TASK, robot=EQUIPPED).model_copy(update={"definitions_rev": rev})

    def system(self, number: int = 0) -> str:
        return self.model.prompts[number].messages[0].text()

    def last(self, number: int) -> str:
        return self.model.prompts[number].messages[-1].text()

    def offered(self) -> list[list[str]]:
        return [[tool.name for tool in prompt.tools if tool.name == SEARCH] for prompt in self.model.prompts]


def uses_of(run: Run) -> list[ToolUse]:
    return [use for turn in run.execution.results[0].turns for each in turn.rounds for use in each.uses]


READS = (
    calls((SEARCH, {"query": "offers"})),
    calls((SEARCH, {"query": "offers", "file": "references/prices.md"})),
)


async def test_an_agent_reads_a_skill_and_its_file_as_instructions() -> None:  # EX-33 EX-36 EX-99
    shop = Shop(ScriptedModel(*READS, "A wheel: 7. Cordially"))
    hidden = {"description": "Offers, hidden offers", "text": "Hidden."}
    given = {"offers": OFFERS, "hidden": hidden}
    run = shop.write(given, named=["offers"], tools=["crm"], autonomy="read_only")
    run = await shop.harness.task_done(run)
    described = "<name>offers</name><description>How offers are written. Use it for every offer.</description>"
    assert f"\n<available_skills>\n<skill>{described}</skill>\n</available_skills>" in shop.system()
    assert "Cordially" not in shop.system(), "the instructions are read when they are needed"
    assert shop.offered() == [[SEARCH]] * 3
    whole = "# offers\nEnd with the word Cordially. Prices: references/prices.md"
    listed = "Files of this skill, which `file` reads:\n- references/prices.md"
    assert shop.last(1) == f"<skill>\n{whole}\n\n{listed}\n</skill>", "no frame, and no skill that it doesn't name"
    assert shop.last(2) == "<skill>\n# offers/references/prices.md\nA wheel costs 7.\n</skill>"
    assert [(use.server, use.idempotent, use.status) for use in uses_of(run)] == [("rota", True, "completed")] * 2
    assert run.execution.results[0].output is not None
    assert run.execution.results[0].output.inline == "A wheel: 7. Cordially"


async def test_what_is_not_there_is_said_and_long_texts_are_cut() -> None:
    asked = [{"query": "bills"}, {"query": "offers", "file": "../bills"}, {"query": "long"}]
    shop = Shop(ScriptedModel(*(calls((SEARCH, each)) for each in asked), "Done."))
    long = {"description": "Long", "text": "x" * (LONGEST + 1)}
    shop.definitions.write(OTHER, (SKILL, "bills", {**OFFERS}))
    await shop.harness.task_done(shop.write({"offers": OFFERS, "long": long}))
    assert "no skill has these words; there are: long, offers" in shop.last(1)
    assert "skill offers has no file ../bills: it has references/prices.md" in shop.last(2)
    assert shop.last(3).endswith(f"x\n[cut off after {LONGEST} of {LONGEST + 1} characters]\n</skill>")
    assert "bills" not in shop.system()


async def test_of_more_than_fifteen_skills_the_prompt_has_the_names() -> None:  # EX-38
    many = {f"of-{number:02}": {"description": f"Work number {number}", "text": "x"} for number in range(15)}
    few = Shop(ScriptedModel("Done."))
    await few.harness.task_done(few.write(many))
    assert (few.offered(), few.system().count("<description>")) == ([[SEARCH]], 15)
    shop = Shop(ScriptedModel(calls((SEARCH, {"query": "an offer"})), "Done."))
    await shop.harness.task_done(shop.write({**many, "offers": OFFERS}))
    names = ", ".join(sorted([*many, "offers"]))
    assert f"<available_skills>\n{names}\n</available_skills>" in shop.system()
    assert "<description>" not in shop.system()
    assert shop.last(1).startswith("<skill>\n# offers\nEnd with the word Cordially.")


async def test_a_run_reads_the_skill_of_the_set_that_it_began_with() -> None:
    shop = Shop(ScriptedModel(*READS[:1], "Done."))
    run = shop.write({"offers": OFFERS})
    shop.write({"offers": {"description": "Changed", "text": "Changed."}})
    shop.definitions.write(TEAM, (SKILL, "offers", None))
    await shop.harness.task_done(run)
    assert "How offers are written" in shop.system()
    assert "End with the word Cordially" in shop.last(1)
    assert "Changed" not in shop.system() + shop.last(1)


async def test_a_model_without_calls_reads_skills_by_text(tmp_path: Path) -> None:  # EX-96
    text = "label: S\ntype: openai\nteams: '*'\noptions: {model: small, capabilities: {tool_calls: false}}"
    (tmp_path / "small.yaml").write_text(text)
    call = '<tool_call>{"name": "skill_search", "arguments": {"query": "offers"}}</tool_call>'
    shop = Shop(ScriptedModel(call, "Done."), tmp_path)
    await shop.harness.task_done(shop.write({"offers": OFFERS}))
    assert '{"name": "skill_search", "description": ' in shop.system()
    assert "<available_skills>" in shop.system()
    assert "<tool_result>\n<skill>\n# offers\nEnd with the word Cordially." in shop.last(1)


async def test_a_dry_run_records_the_call() -> None:  # EX-08
    shop = Shop(ScriptedModel(*READS[:1], "Done."))
    run = shop.write({"offers": OFFERS}).with_execution(executor_mode=ExecutorMode.DRYRUN)
    (use,) = uses_of(await shop.harness.task_done(run))
    assert use.output is not None
    assert '"recorded": true' in (use.output.inline or "")


async def test_a_skill_that_a_run_may_not_read_is_not_spoken_of() -> None:  # EX-65
    config = EQUIPPED.robot_config.model_dump() | {"roles": {"admin": [SEARCH]}}
    shop = Shop(ScriptedModel(*READS[:1], "Done."))
    rev = shop.write({"offers": OFFERS}).definitions_rev
    robot = Robot.model_validate(EQUIPPED.model_dump() | {"robot_config": config})
    run = with_tasks(TASK, robot=robot).model_copy(update={"definitions_rev": rev, "lowered": Role.MEMBER})
    (use,) = uses_of(await shop.harness.task_done(run))
    assert (shop.offered(), use.status) == ([[], []], ToolStatus.FAILED)
    assert "available_skills" not in shop.system()


async def test_an_agent_that_looks_around_before_a_report_reads_its_skills() -> None:  # EX-11
    resources = EQUIPPED.robot_config.resources.model_dump() | {"phases": {"inspiration": "experts.writer"}}
    config = EQUIPPED.robot_config.model_dump() | {"resources": resources}
    robot = Robot.model_validate(EQUIPPED.model_dump() | {"robot_config": config})
    shop = Shop(ScriptedModel(*READS[:1], REPORT))
    rev = shop.write({"offers": OFFERS}).definitions_rev
    run = at(Phase.INSPIRATION, run=new_run("clock", robot=robot)).model_copy(update={"definitions_rev": rev})
    await shop.harness.until(run, lambda run: run.execution.inspiration is not None)
    assert "<available_skills>" in shop.system()
    assert "End with the word Cordially" in shop.last(1)
