"""Built-in tools: files, searches and attachments, for the robots that name them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from services.executor.tests.fixtures import EQUIPPED, a_task, inside, with_tasks
from services.executor.tests.harness import LOOKUP, ScriptedModel, StepHarness, calls

from executor.adapters.in_memory import InMemoryFiles, ScriptedTools
from executor.adapters.mcp_servers import MCPFileError, load_servers
from executor.agents.prompt_files import parse
from executor.agents.skill_files import Skills
from executor.domain.conversation.chat import BUILT_IN, Tool
from executor.domain.conversation.made_files import file_id, made_by
from executor.domain.planning.resources import resources
from executor.steps.call_runner import Toolset
from executor.tool_ports import NotBegun, ToolFailed
from executor.tools.files import FileTools
from executor.tools.registry import Registry
from executor.tools.robot_tools import RobotTools
from executor.tools.searches import SearchTools
from rota_common.errors import Transient
from rota_common.testing.in_memory_bus import InMemoryBus
from rota_common.testing.samples import NOON, TEAM
from rota_contracts.catalog import LIST_FILES, READ_FILE, RECALL, WRITE_FILE
from rota_contracts.messages.attachment import wrap
from rota_contracts.messages.conversation import ToolUse
from rota_contracts.messages.learning import LessonType
from rota_contracts.messages.memory import MemoryEntry, Recall, RecalledEntry, RecallReply, SharedEntry, SharedMatch
from rota_contracts.messages.workspace import (
    FileInfo,
    FileList,
    FileRefusal,
    FileReply,
    ListFiles,
    ReadFile,
    WriteFile,
)
from rota_contracts.robots.resources import BuiltInTool
from rota_contracts.robots.robot import Robot
from rota_contracts.roles import Role

ALL = [tool.value for tool in BuiltInTool]


class Memory:
    """The memory's answers, to one robot; `asked` is all that came."""

    def __init__(self) -> None:
        self.contents: dict[str, str] = {}
        self.asked: list[Any] = []
        self.away = False

    def serve(self, bus: InMemoryBus) -> None:
        bus.answer(WRITE_FILE, self.write)
        bus.answer(READ_FILE, self.read)
        bus.answer(LIST_FILES, self.list)
        bus.answer(RECALL, self.recall)

    async def write(self, request: WriteFile) -> FileReply:
        self._ask(request)
        self.contents[request.path] = request.content
        return FileReply(file=self._info(request.path))

    async def read(self, request: ReadFile) -> FileReply:
        self._ask(request)
        if request.path not in self.contents:
            return FileReply(refused=FileRefusal.NOT_FOUND, reason=f"there is no file {request.path}")
        return FileReply(file=self._info(request.path), content=self.contents[request.path])

    async def list(self, request: ListFiles) -> FileList:
        self._ask(request)
        return FileList(files=[self._info(path) for path in self.contents])

    async def recall(self, request: Recall) -> RecallReply:
        self._ask(request)
        lesson = MemoryEntry(id="1", type=LessonType.INSIGHT, content="Ann likes short mails", created_at=NOON)
        shared = SharedEntry(collection="policies", id="discounts", content="At most 5 %", updated_at=NOON)
        return RecallReply(entries=[RecalledEntry(entry=lesson, score=1)], shared=[SharedMatch(entry=shared, score=1)])

    def _ask(self, request: Any) -> None:
        if self.away:
            raise Transient("away")
        self.asked.append(request)

    def _info(self, path: str) -> FileInfo:
        return FileInfo(path=path, size=len(self.contents[path]), etag="e", revision=1, updated_at=NOON)


class World:
    """The tools of a robot over scripted MCP tools, an attachment store, and a memory."""

    def __init__(self, mcp: Sequence[Tool] = (LOOKUP,), *, skills: Skills | None = None) -> None:
        self.bus, self.files = InMemoryBus(), InMemoryFiles()
        self.memory = Memory()
        self.memory.serve(self.bus)
        self.mcp = ScriptedTools(mcp)
        ask: Any = self.bus.ask
        files = FileTools(ask=ask, files=self.files)
        registry = Registry({**files.works(), **SearchTools(ask=ask).works()})
        self.tools = RobotTools(mcp=self.mcp, registry=registry, skills=skills.of(TEAM) if skills else ())

    async def call(self, tool: str, /, robot: Robot | None = None, role: Role = Role.OWNER, **arguments: Any) -> str:
        use = ToolUse(step_id="step-1", name=tool, server=BUILT_IN, tool=tool, arguments=arguments)
        robot = robot or having(*ALL)
        return await self.tools.call(use, team=robot.team_id, robot=robot, role=role)

    async def refusal(self, tool: str, /, robot: Robot | None = None, **arguments: Any) -> str:
        with pytest.raises(ToolFailed) as refused:
            await self.call(tool, robot, **arguments)
        return str(refused.value)

    def harness(self, model: ScriptedModel, **given: Any) -> StepHarness:
        shop = StepHarness(model, **given)
        runner = replace(shop.run_step.calls, real=Toolset(self.tools, shop.processes))
        shop.run_step = replace(shop.run_step, calls=runner)
        return shop


def having(*tools: str, **config: Any) -> Robot:
    """EQUIPPED, with these built-in tools."""
    known = EQUIPPED.robot_config.model_dump()
    resources = known["resources"] | {"tools": list(tools)}
    return Robot.model_validate(EQUIPPED.model_dump() | {"robot_config": {**known, "resources": resources, **config}})


async def test_a_robot_has_the_built_in_tools_that_it_names_and_no_others() -> None:  # EX-99 EX-84 DEC-53
    world = World()
    assert await world.tools.list(EQUIPPED) == await world.mcp.list(EQUIPPED), "none by default"
    robot = having("read_file", "write_file")
    listed = {tool.name: tool for tool in await world.tools.list(robot)}
    assert sorted(listed) == ["crm__lookup", "read_file", "write_file"]
    assert [(tool.server, tool.idempotent, tool.read_only) for tool in (listed["read_file"], listed["write_file"])] == [
        ("rota", True, True),
        ("rota", True, False),
    ]
    assert "resources.tools names read_file, write_file" in await world.refusal("attach", robot, path="a")
    known = {each.id for each in resources(robot, None).means}
    assert {"rota.read_file", "rota.write_file"} <= known, "a plan may have them as tasks"


async def test_an_assistant_writes_a_file_under_another_tools_usual_name() -> None:  # EX-99 EX-48
    world = World()
    model = ScriptedModel(calls(("filewrite", {"path": "plan.md", "content": "1. ask Ann"})), "done")
    shop = world.harness(model, agent=parse("experts.writer", '---\nteams: ["*"]\ntools: [write_file]\n---\nWrite.'))
    run = await shop.task_done(with_tasks(a_task(1, executor_id="experts.writer"), robot=having(*ALL)))
    assert [tool.name for tool in model.prompts[0].tools] == ["write_file"]
    assert world.memory.contents == {"plan.md": "1. ask Ann"}
    (written,) = world.memory.asked
    assert (written.team_id, written.member_id) == (run.execution.team_id, run.execution.member_id)
    assert written.write_id, "repeated after a crash it is written once"
    assert inside(model.prompts[1].messages[-1].text()) == "plan.md: written, 10 bytes"


async def test_files_are_read_and_listed_and_refusals_say_what_to_do() -> None:  # EX-99
    world = World()
    assert await world.call("list_files") == "there are no files yet"
    world.memory.contents = {"memory/a.md": "Ann"}
    assert await world.call("read_file", path="memory/a.md") == "Ann"
    assert await world.call("list_files", folder="./memory/") == "memory/a.md (3 bytes, changed 2026-03-02 12:00 UTC)"
    assert await world.refusal("read_file", path="b.md") == "there is no file b.md"
    assert "expected a path inside the workspace" in await world.refusal("read_file", path="../x")
    assert "expected path, a path inside your files" in await world.refusal("read_file")
    assert "there is no argument file: expected path" in await world.refusal("read_file", file="a")
    assert "expected content as a text, got dict" in await world.refusal("write_file", path="a", content={"a": 1})
    assert "expected mode to be replace or append" in await world.refusal("write_file", path="a", content="", mode="x")
    world.memory.away = True
    with pytest.raises(NotBegun, match="the memory doesn't answer now"):
        await world.call("write_file", path="a", content="b")


async def test_what_is_attached_is_kept_once_and_named_in_the_answer() -> None:  # EX-99 EX-92
    world = World()
    world.memory.contents = {"reports/q 1.md": "# Q1"}
    answers = [await world.call("attach", path="reports/q 1.md") for _ in range(2)]
    wrapper = wrap(file_id("step-1", 1))
    assert answers == [f"[file q_1.md, text/markdown, 4 bytes: {wrapper}]"] * 2
    (made,) = made_by("step-1", answers[0])
    assert (made.file, made.name) == (wrapper, "q_1.md")
    team = EQUIPPED.team_id
    stored = await world.files.find(team, file_id("step-1", 1))
    assert stored is not None
    assert await world.files.content(stored) == b"# Q1"
    assert "expected either path" in await world.refusal("attach", path="a", text="b")


async def test_the_memory_is_searched_in_the_robots_name_and_in_its_collections() -> None:  # EX-99
    world = World()
    robot = having("memory_search", kb={"collections": ["policies", "no name"]})
    found = await world.call("memory_search", robot, query="what does Ann like?", limit="3")
    assert found.splitlines() == ["[insight, 2026-03-02] Ann likes short mails", "[policies/discounts] At most 5 %"]
    (asked,) = world.memory.asked
    assert (asked.member_id, asked.collections, asked.limit) == (robot.member_id, ["policies"], 3)
    assert "expected limit to be 1 to 20, got 21" in await world.refusal("memory_search", query="a", limit=21)


async def test_lessons_by_a_value_of_the_event_are_not_searched() -> None:  # EX-99
    world = World()
    await world.call("memory_search", having("memory_search"), query="Ann")
    await world.call("memory_search", having("memory_search", learn={"by": "customer.id"}), query="Ann")
    assert [(asked.scope, asked.rehearsed) for asked in world.memory.asked] == [("", False), (None, False)]


def a_skill(
    folder: Path, name: str, teams: str, text: str = "Ask for the number.", *, about: str = "", prices: str = ""
) -> None:
    (folder / name).mkdir()
    front = f"description: How to write {about or name}\nteams: {teams}"
    (folder / name / "SKILL.md").write_text(f"---\n{front}\n---\n{text}")
    if prices:
        (folder / name / "prices.md").write_text(prices)


async def test_a_skill_is_found_by_its_words_for_the_teams_that_may_use_it(tmp_path: Path) -> None:  # EX-99 EX-38
    a_skill(tmp_path, "invoices", '["*"]', prices="A page: 5 EUR.")
    a_skill(tmp_path, "hiring", "[globex]", "Secret.")
    world = World(skills=Skills(tmp_path))
    whole = "# invoices\nAsk for the number.\n\nFiles of this skill, which `file` reads:\n- prices.md"
    assert await world.call("skill_search", query="an invoice") == whole
    prices = await world.call("skill_search", query="invoices", file="prices.md")
    assert prices == "# invoices/prices.md\nA page: 5 EUR."
    assert "has no file x: it has prices.md" in await world.refusal("skill_search", query="invoices", file="x")
    assert await world.call("skill_search", query="hiring people") == "no skill has these words; there are: invoices"


async def test_a_few_skills_stand_in_the_prompt_of_those_who_can_read_them(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    """EX-33, EX-36 and EX-38."""
    for name in ("offers & <bids>", *(f"s{number}" for number in range(14))):
        a_skill(tmp_path, name.partition(" ")[0], '["*"]', "Ask for the budget.", about=name)
    few, none = Skills(tmp_path), Skills()
    many = tmp_path / "many"
    many.mkdir()
    for number in range(16):
        a_skill(many, f"s{number}", '["*"]')
    line = "<skill><name>offers</name><description>How to write offers &amp; &lt;bids&gt;</description></skill>"
    for about, skills, tool, shown in (
        ("fifteen", few, "skill_search", (True, True)),
        ("no tool to read them", few, "read_file", (False, False)),
        ("sixteen by their names", Skills(many), "skill_search", (True, False)),
        ("none", none, "skill_search", (False, False)),
    ):
        with subtests.test(about):
            model = ScriptedModel(calls((tool, {"query": "offers"})), "An offer.")
            await World().harness(model, skills=skills).task_done(with_tasks(a_task(1), robot=having(tool)))
            system = model.prompts[0].messages[0].text()
            assert [each in system for each in ("<available_skills>", line)] == [*shown]
            assert ("Ask for the budget." in model.prompts[1].messages[-1].text()) is shown[1]


MANY = [Tool(f"crm__t{number}", "crm", f"t{number}", f"Does {number}") for number in range(16)]


async def test_of_many_tools_an_assistant_is_offered_those_that_it_has_searched() -> None:  # EX-99 EX-38
    world = World([*MANY, Tool("crm__refundOrder", "crm", "refundOrder", "Gives money back")])
    config = EQUIPPED.robot_config.resources.model_dump() | {"mcp": [{"id": "crm"}], "tools": ["mcp_tool_search"]}
    robot = having(resources=config)
    model = ScriptedModel(calls(("mcp_tool_search", {"query": "refunds"})), calls(("crm__refundOrder", {})), "refunded")
    await world.harness(model).task_done(with_tasks(a_task(1), robot=robot))
    offered = [[tool.name for tool in prompt.tools if tool.server] for prompt in model.prompts]
    named = ["crm__refundOrder", "mcp_tool_search"]
    assert [[name for name in each if name in named or name.startswith("crm")] for each in offered] == [
        ["mcp_tool_search"],
        named,
        named,
    ]
    assert [use.tool for use in world.mcp.calls] == ["refundOrder"]


async def test_a_search_finds_no_tool_that_its_run_may_not_call() -> None:  # EX-65 EX-99
    world = World([Tool("crm__refund", "crm", "refund", "Gives money back"), *MANY])
    config = EQUIPPED.robot_config.resources.model_dump() | {"mcp": [{"id": "crm"}], "tools": ["mcp_tool_search"]}
    robot = having(resources=config, roles={"admin": ["crm.refund"]})
    assert await world.call("mcp_tool_search", robot, Role.ADMIN, query="money") == "- crm__refund: Gives money back"
    assert "none of the 16 tools" in await world.call("mcp_tool_search", robot, Role.MEMBER, query="money")


async def test_few_tools_need_no_search_and_without_a_search_all_are_offered() -> None:
    model = ScriptedModel("done")
    await World().harness(model).task_done(with_tasks(a_task(1), robot=having("mcp_tool_search")))
    assert "crm__lookup" in [tool.name for tool in model.prompts[0].tools]
    assert "mcp_tool_search" not in [tool.name for tool in model.prompts[0].tools]
    many = ScriptedModel("done")
    config = EQUIPPED.robot_config.resources.model_dump() | {"mcp": [{"id": "crm"}]}
    await World(MANY).harness(many).task_done(with_tasks(a_task(1), robot=having(resources=config)))
    assert len([tool for tool in many.prompts[0].tools if tool.server == "crm"]) == 16


async def test_outside_of_standard_mode_a_call_is_recorded_and_reaches_nothing() -> None:
    world = World()
    recorded = replace(world.tools, recorded=True)
    use = ToolUse(step_id="s", name="write_file", server=BUILT_IN, tool="write_file", arguments={"path": "a"})
    await recorded.call(use, team=EQUIPPED.team_id, robot=having(*ALL))
    assert (world.mcp.calls, world.memory.asked) == ([use], [])


def test_no_mcp_server_has_the_name_of_the_built_in_tools(tmp_path: Path) -> None:
    (tmp_path / "rota.yaml").write_text("label: x")
    with pytest.raises(MCPFileError, match=r"rename rota\.yaml"):
        load_servers(tmp_path, {})
