"""Restate's steps: the workflow that its server calls. `python -m hypercorn bench.peers.restate_service:app`"""

from functools import partial

import restate
from restate import Workflow, WorkflowContext

from bench.peers.work import STEPS, deliver, step

NAME = "Run"
workflow = Workflow(NAME)


@workflow.main()
async def run(context: WorkflowContext, name: str) -> str:
    result = name
    for number in range(STEPS):
        result = await context.run_typed(f"step {number}", partial(step, number, result))
    sent: str = await context.run_typed("deliver", partial(deliver, name, result))
    return sent


app = restate.app([workflow])
