"""The tools of the inspiration agent, which look up what is new for its report.

They are called within its step, which is repeated as a whole after a crash. So only idempotent tools are offered.
"""

import asyncio
from collections.abc import Sequence

from pydantic_core import to_jsonable_python

from executor.domain.answers.understand import Understood
from executor.domain.conversation.chat import Tool
from executor.domain.conversation.loop import uses_of
from executor.domain.outcomes import LookedUp, Outcome, Unusable
from executor.domain.run import Run
from executor.ports import ToolFailed, Tools
from executor.steps.check_calls import CheckCalls
from rota_common.errors import Permanent, Transient
from rota_contracts.json_values import TOO_DEEP, unstorable
from rota_contracts.messages.conversation import Round, ToolStatus, ToolUse, Turn
from rota_contracts.messages.execution import excerpt
from rota_contracts.messages.text import Text
from rota_contracts.robots.robot import Robot

ROUNDS = 5
"""Times it may use tools, unless its file sets another number."""

OUTPUT_LIMIT = 8_000
"""Characters of a reply, its own or a tool's, that are kept and shown to it."""


THINKING_LIMIT = 100_000
"""Characters of reasoning that are kept with a round; signed reasoning can't be shortened."""


NO_APPROVALS = "it would need a person's approval ({}), and inspiration waits for none"


async def look_up(
    tools: Tools, reply: Understood, offered: Sequence[Tool], *, check: CheckCalls, step_id: str, thinking: str = ""
) -> Outcome:
    """Make all calls of a reply at once; a failure is shown to the agent like any other answer."""
    run = check.run
    uses = await _checked(uses_of(reply.calls, offered, step_id=step_id), run, check)
    try:
        problem = unstorable([to_jsonable_python(use.arguments) for use in uses])
    except ValueError:
        problem = TOO_DEEP
    if problem:
        return Unusable(problem)
    made = await asyncio.gather(*(_call(tools, use, run.robot) for use in uses))
    kept = Text(inline=thinking) if 0 < len(thinking) <= THINKING_LIMIT else None
    return LookedUp(Round(text=excerpt(reply.text, OUTPUT_LIMIT), thinking=kept, uses=list(made)))


async def _checked(uses: Sequence[ToolUse], run: Run, check: CheckCalls) -> Sequence[ToolUse]:
    """The calls as their checks left them: those that aren't made have failed."""
    turn = Turn(number=1, rounds=run.looked_up)
    done = await check([use for use in uses if use.status is ToolStatus.PENDING], turn)
    refused = done.refused | {each.step_id: NO_APPROVALS.format(each.reason) for each in done.asks}
    after = {use.step_id: use for use in done.uses}
    return [_refused(after.get(use.step_id, use), refused.get(use.step_id)) for use in uses]


def _refused(use: ToolUse, reason: str | None) -> ToolUse:
    return use if reason is None else use.model_copy(update={"status": ToolStatus.FAILED, "error": reason})


async def _call(tools: Tools, use: ToolUse, robot: Robot) -> ToolUse:
    if use.status is not ToolStatus.PENDING:
        return use
    try:
        output = Text(inline=excerpt(await tools.call(use, team=robot.team_id, robot=robot), OUTPUT_LIMIT))
    except (ToolFailed, Transient, Permanent) as error:
        return use.model_copy(update={"status": ToolStatus.FAILED, "error": str(error)})
    return use.model_copy(update={"status": ToolStatus.COMPLETED, "output": output})
