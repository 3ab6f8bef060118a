"""`rota pause`, `rota resume`, `rota stop`: a run, the runs of a robot, or the runs of the team."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated

import typer

from rota.api_error import ApiError
from rota.output import JsonFlag, say, say_json
from rota.running import with_api
from rota.short_ids import EXECUTION, whole_id
from rota_contracts.messages.control import ControlAction

HELP = {
    ControlAction.PAUSE: "Pause a run, a robot or the team. Runs pause after their current step; no new one starts.",
    ControlAction.RESUME: "Resume a paused run, robot or team.",
    ControlAction.STOP: "Stop a run, or all runs of a robot or the team. Queued runs are removed from the queue.",
}


def register(app: typer.Typer) -> None:
    for action in ControlAction:
        examples = f"`rota {action} 0c6f…`, `rota {action} --robot lead-processor`, `rota {action} --team`"
        app.command(action.value, help=HELP[action], epilog=f"Examples: {examples}")(_command(action))


def _command(action: ControlAction) -> Callable[..., None]:
    def control(
        execution: Annotated[str, typer.Argument(help="A run as in `rota executions`, or its first characters.")] = "",
        robot: Annotated[str, typer.Option(help="All runs of this robot, by its member_id.")] = "",
        team: Annotated[bool, typer.Option("--team", help="All runs of the team.")] = False,
        reason: Annotated[str, typer.Option(help="The reason; recorded with each run.")] = "",
        json: JsonFlag = False,
    ) -> None:
        if [bool(execution), bool(robot), team].count(True) != 1:
            raise typer.BadParameter(f"expected one to {action}: EXECUTION, --robot MEMBER or --team")
        execution = whole_id(EXECUTION, execution)
        what = f"/executions/{execution}" if execution else f"/robots/{robot}" if robot else ""
        try:
            result = with_api(lambda api: api.control(what, action.value, reason))
        except ApiError as error:
            if execution and error.status == HTTPStatus.NOT_FOUND:
                error.hint = (
                    f"`rota executions` lists the runs; a robot is named by --robot: rota {action} --robot {execution}"
                )
            raise
        if json:
            say_json(result)
            return
        for one in result["execution_ids"]:
            say(f"{one}: {'removed from the queue' if one in result['withdrawn'] else action.value}")
        say(result["message"])

    return control
