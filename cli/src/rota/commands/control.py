"""`rota pause`, `rota resume`, `rota stop`: a run, all of a robot, or all of the team."""

from collections.abc import Callable
from typing import Annotated

import typer

from rota.output import JsonFlag, say, say_json
from rota.running import with_api
from rota_contracts.messages.control import ControlAction

HELP = {
    ControlAction.PAUSE: "Pause a run, a robot, or the team: what runs holds after its step, nothing new begins.",
    ControlAction.RESUME: "Let what was paused go on: a run, a robot, or the team.",
    ControlAction.STOP: "Stop a run, all runs of a robot, or of the team; what waits is taken out of the queue.",
}


def register(app: typer.Typer) -> None:
    for action in ControlAction:
        examples = f"`rota {action} 0c6f…`, `rota {action} --robot lead-processor`, `rota {action} --team`"
        app.command(action.value, help=HELP[action], epilog=f"Examples: {examples}")(_command(action))


def _command(action: ControlAction) -> Callable[..., None]:
    def control(
        execution: Annotated[str, typer.Argument(help="One run, as in `rota executions`.")] = "",
        robot: Annotated[str, typer.Option(help="All of this robot, by its member_id.")] = "",
        team: Annotated[bool, typer.Option("--team", help="All of the team.")] = False,
        reason: Annotated[str, typer.Option(help="Why; it is kept with each run.")] = "",
        json: JsonFlag = False,
    ) -> None:
        if [bool(execution), bool(robot), team].count(True) != 1:
            raise typer.BadParameter(
                f"expected what to {action}: EXECUTION, --robot MEMBER or --team, one of the three"
            )
        what = f"/executions/{execution}" if execution else f"/robots/{robot}" if robot else ""
        told = with_api(lambda api: api.control(what, action.value, reason))
        if json:
            say_json(told)
            return
        for one in told["execution_ids"]:
            say(f"{one}: {'taken out of the queue' if one in told['withdrawn'] else action.value}")
        say(told["message"])

    return control
