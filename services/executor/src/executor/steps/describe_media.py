"""Pictures and sound in words, for a model that can't take them: by an agent, or by a tool of an MCP server."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any

from executor.agents.prompt_files import Agent
from executor.call_port import Calls
from executor.domain.calls.policy import role_of
from executor.domain.conversation.media import NOUNS, ReadMedium
from executor.domain.conversation.medium_arguments import medium_arguments
from executor.domain.hooks.questions import about_tool
from executor.domain.run import Run
from executor.domain.steps import BeginCalls, MakeCalls
from executor.domain.uses import BY_TOOL, ByAgent, ByTool
from executor.steps.call_runner import CallRunner
from executor.steps.hook_chain import HookChain
from executor.steps.notify_hooks import NotifyHooks
from executor.steps.used_agents import AskAgent, reply_of
from executor.steps.used_tool import the_call, used_tool, with_one
from executor.tool_ports import ToolFailed
from rota_common.errors import Permanent
from rota_common.redaction import without_credentials
from rota_contracts.ids import derived_id
from rota_contracts.messages.agent import CallAgent
from rota_contracts.messages.conversation import ToolUse
from rota_contracts.messages.execution import Task
from rota_contracts.messages.hook import HookPoint
from rota_contracts.messages.media import MediaKind
from rota_contracts.messages.text import Text
from rota_contracts.messages.trigger import Message
from rota_contracts.robots.robot import Phase

DESCRIBE = {
    MediaKind.IMAGE: "Describe this picture to one who can't see it: what is in it, and all words in it as they are.",
    MediaKind.AUDIO: "Write this sound down for one who can't hear it: all words as they are said, what else it is.",
}
DESCRIPTION = "description"


@dataclass(frozen=True)
class Describer:
    """`who`: its name, for people. `describe` raises Permanent, and Transient."""

    who: str
    describe: Callable[[ReadMedium], Awaitable[str]]


@dataclass(frozen=True, kw_only=True)
class DescribeMedia:
    """Each medium is described once for a run: the words are kept beside the replies of agents."""

    calls: CallRunner
    replies: Calls
    ask_agent: AskAgent
    chain: HookChain | None = None
    notify: NotifyHooks | None = None

    def by(self, provider: ByAgent | ByTool, run: Run, subject: Phase | Task, agent: Agent) -> Describer:
        """For an `agent` that uses this provider, in its work on `subject`."""
        match provider:
            case ByAgent(agent_id):
                return Describer(f"agent {agent_id}", partial(self._asked, run, agent, agent_id))
            case ByTool(server, tool):
                which = f"{BY_TOOL}{server}.{tool}"
                return Describer(f"tool {server}.{tool}", partial(self._called, run, subject, with_one(agent, which)))

    async def _asked(self, run: Run, agent: Agent, agent_id: str, medium: ReadMedium) -> str:
        text = {"type": "text", "text": DESCRIBE[medium.kind]}
        request = CallAgent(
            call_id=derived_id("described", run.id, agent_id, medium.digest),
            team_id=run.execution.team_id,
            member_id=run.execution.member_id,
            execution_id=run.id,
            assistant_id=agent_id,
            messages=[Message(role="user", content=[text, medium.part()])],
            metadata={"source": NOUNS[medium.kind]},
            callers=[agent.id],
        )
        reply = await reply_of(self.ask_agent, request)
        if reply.error:
            raise Permanent(reply.error)
        return without_credentials(reply.content)

    async def _called(self, run: Run, subject: Phase | Task, agent: Agent, medium: ReadMedium) -> str:
        """After all checks, which see a line about the medium in its place: it is too large for hooks and people."""
        call_id = derived_id("described", run.id, agent.uses.web, medium.digest)
        if (known := await self.replies.kept(call_id, DESCRIPTION)) is not None:
            return known
        toolset = await self.calls.toolset(run, subject)
        tool = await used_tool(toolset.tools, run.robot, agent)
        noun = NOUNS[medium.kind]
        if (given := medium_arguments(tool, medium, DESCRIBE[medium.kind])) is None:
            raise Permanent(f"it has no argument for a {noun}, such as {'image_url' if noun == 'picture' else 'audio'}")
        use = ToolUse(
            step_id=call_id,
            name=noun,
            server=tool.server,
            tool=tool.tool,
            arguments=given.shown,
            idempotent=tool.idempotent,
        )
        begun = await self.calls.begin(run, BeginCalls(subject, (use,)), agent, self.chain)
        checked = the_call(begun)
        made = checked.model_copy(update={"arguments": given.filled(checked.arguments)})
        tools, team, began = toolset.tools, run.execution.team_id, monotonic()
        try:
            answer = await tools.call(made, team=team, robot=run.robot, role=role_of(run))
        except ToolFailed as error:
            self._show_hooks(run, subject, checked, None, error=str(error), seconds=monotonic() - began)
            raise Permanent(str(error)) from error
        self._show_hooks(run, subject, checked, Text(inline=answer), seconds=monotonic() - began)
        return await self.replies.keep(call_id, DESCRIPTION, answer, team=team)

    def _show_hooks(self, run: Run, subject: Phase | Task, use: ToolUse, output: Text | None, **result: Any) -> None:
        """Hooks after calls of tools see this one, too."""
        if self.chain is None or self.notify is None:
            return
        after = HookPoint.AFTER_TOOL_CALL
        call = about_tool(run, MakeCalls(subject, (use,)), after, use)
        self.notify(self.chain.hooks(run, after), call, output, **result)
