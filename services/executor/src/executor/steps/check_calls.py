"""The checks before calls begin: tools and hooks are asked here, and the verdicts are `calls.order`'s."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from executor.agents.prompt_files import Agent
from executor.domain.calls.callee import Callee, call_id, of_process, of_tool, of_unlisted
from executor.domain.calls.duplicates import before
from executor.domain.calls.order import AskHooks, AskPerson, Proposed, Refuse, Verdict, decide
from executor.domain.calls.policy import Policy
from executor.domain.conversation.chat import Tool
from executor.domain.outcomes import AskedAbout
from executor.domain.planning.arguments import fitted
from executor.hook_port import Hook
from executor.steps.hook_chain import Chained, HookChain
from executor.steps.redacted_calls import KnownValues
from rota_common.redaction import json_without_credentials, without_credentials
from rota_contracts.canonical_json import canonical_json, sha256_of
from rota_contracts.json_values import unstorable
from rota_contracts.messages.approval import SUMMARY_LIMIT
from rota_contracts.messages.conversation import ToolStatus, ToolUse, Turn
from rota_contracts.messages.execution import excerpt
from rota_contracts.messages.hook import HookCall, HookPoint
from rota_contracts.robots.robot import Robot

POINT = HookPoint.BEFORE_TOOL_CALL


@dataclass
class Checked:
    """Calls as their checks left them: refused ones with the reason, and those that wait for a person."""

    uses: list[ToolUse] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    asks: list[AskedAbout] = field(default_factory=list)
    by: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def passed(self) -> list[ToolUse]:
        """As they are about to be."""
        passed = [use for use in self.uses if use.step_id not in self.refused]
        return [use.model_copy(update={"status": ToolStatus.STARTED}) for use in passed]


@dataclass(frozen=True, kw_only=True)
class CheckCalls:
    """The checks of one step's calls. `tools`: all of the robot's; `agent` None: of a task that is one call. `hooks`
    are asked what `about` says. `cleared`: step ids of calls that have passed all this before; `asked`: the calls that
    people were asked about before."""

    robot: Robot
    policy: Policy
    tools: Sequence[Tool]
    agent: Agent | None
    known_secrets: KnownValues
    hooks: Sequence[Hook] = ()
    about: Callable[[ToolUse], HookCall] | None = None
    cleared: Collection[str] = ()
    asked: int = 0

    async def __call__(self, uses: Sequence[ToolUse], turn: Turn) -> Checked:
        """One after the other, so that each is compared with those before it as hooks have left them."""
        done = Checked()
        for use in uses:
            use, verdict = await self._check(use, [*before(turn, use), *done.passed()], done)
            done.uses.append(use)
            match verdict:
                case Refuse(reason):
                    done.refused[use.step_id] = without_credentials(reason)
                case AskPerson(reason):
                    done.asks.append(self._asked(use, reason))
        return done

    async def _check(self, use: ToolUse, earlier: Sequence[ToolUse], done: Checked) -> tuple[ToolUse, Verdict]:
        call = self._proposed(use, earlier, hooks=bool(self.hooks), asked=self.asked + len(done.asks))
        verdict = decide(call)
        if not isinstance(verdict, AskHooks) or self.about is None:
            return call.use, verdict
        chained = await HookChain.ask(self.hooks, self.about(call.use), _problem)
        done.by += [name for name in chained.by if name not in done.by]
        done.notes += [note for note in chained.notes if note not in done.notes]
        after = self._proposed(_changed(call.use, chained), earlier, hooks=False, asked=call.asked)
        return after.use, decide(replace(after, cancelled=chained.cancelled))

    def _proposed(self, use: ToolUse, earlier: Sequence[ToolUse], *, hooks: bool, asked: int) -> Proposed:
        callee = self._callee(use)
        if callee is not None:
            arguments = fitted(use.arguments, callee.parameters) if isinstance(use.arguments, dict) else use.arguments
            means = {"server": callee.server, "tool": callee.tool, "idempotent": callee.idempotent}
            use = use.model_copy(update={"arguments": arguments, **(means if callee.server else {})})
        return Proposed(
            use=use,
            callee=callee,
            policy=self.policy,
            known=[tool.name for tool in self._mine()],
            hooks=hooks,
            before=earlier,
            cleared=use.step_id in self.cleared,
            asked=asked,
        )

    def _mine(self) -> Sequence[Tool]:
        return [tool for tool in self.tools if self.agent is None or self.agent.may_use(tool)]

    def _callee(self, use: ToolUse) -> Callee | None:
        """One that its server doesn't list now may be called all the same, if it was offered or planned."""
        if use.server is None:
            return of_process(use.name, self.robot)
        if use.tool:
            listed = next((each for each in self.tools if (each.server, each.tool) == (use.server, use.tool)), None)
            return of_tool(listed) if listed is not None else of_unlisted(use)
        named = next((each for each in self._mine() if use.name in (each.name, call_id(each.server, each.tool))), None)
        return of_tool(named) if named is not None else None

    def _asked(self, use: ToolUse, reason: str) -> AskedAbout:
        callee = self._callee(use)
        known = self.known_secrets(self.robot.team_id)
        shown = without_credentials(canonical_json(json_without_credentials(use.arguments)), known)
        return AskedAbout(
            step_id=use.step_id,
            tool=excerpt(callee.id if callee else use.name, 200),
            reason=reason,
            arguments=excerpt(shown, SUMMARY_LIMIT - 1),
            arguments_sha256=sha256_of(use.arguments),
        )


def _changed(use: ToolUse, chained: Chained) -> ToolUse:
    """Another name is another tool, which is looked up anew."""
    tool = chained.call.tool
    if tool is None or chained.cancelled:
        return use
    other = {"name": tool.name, "tool": "", "idempotent": False} if tool.name != use.name else {}
    return use.model_copy(update={"arguments": tool.arguments, **other})


def _problem(changed: HookCall) -> str:
    return unstorable(changed.tool.arguments) if changed.tool is not None else ""
