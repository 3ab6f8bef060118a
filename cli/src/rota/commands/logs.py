"""`rota logs`: what happened in a run."""

import asyncio
from typing import Annotated

import typer

from rota.api_error import ApiError
from rota.client import Api
from rota.output import JsonFlag, say, say_json
from rota.run_log import LogLine, log_lines
from rota.running import with_api
from rota.short_ids import EXECUTION, whole_id
from rota.waiting import POLL_S, UNAVAILABLE, delivery_of
from rota_contracts.messages.delivery import DeliveryReply
from rota_contracts.messages.execution import Execution


def register(app: typer.Typer) -> None:
    app.command("logs", epilog="Example: `rota logs 0c6f… --follow`")(logs)


def logs(
    execution_id: Annotated[str, typer.Argument(help="As in `rota executions`, or its first characters.")],
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the run ends.")] = False,
    json: JsonFlag = False,
) -> None:
    """Show what happened in a run, in order: time (UTC), phase and event. `rota executions show` has the contents."""
    execution_id = whole_id(EXECUTION, execution_id)

    async def show(api: Api) -> None:
        shown = set[LogLine]()
        while True:
            try:
                run = Execution.model_validate(await api.execution(execution_id))
            except ApiError as error:
                if not (follow and shown and error.status == UNAVAILABLE):
                    raise
                await asyncio.sleep(POLL_S)
                continue
            read = await delivery_of(api, execution_id)
            lines = log_lines(run, None if read is None else DeliveryReply.model_validate(read))
            for line in lines:
                if line not in shown:
                    say_json(line._asdict()) if json else say(str(line))
            shown.update(lines)
            if not follow or run.status.over:
                return
            await asyncio.sleep(POLL_S)

    with_api(show)
