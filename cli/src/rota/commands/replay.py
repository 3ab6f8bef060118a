"""`rota replay`: a stored run replayed on its recorded answers, decision by decision."""

from typing import Annotated

import typer

from rota.output import JsonFlag, say, say_json, table
from rota.running import with_api
from rota.short_ids import EXECUTION, whole_id
from rota.timestamps import utc_time
from rota_contracts.messages.replay import Decision, ReplayReply

DIFFERS = 1


def register(app: typer.Typer) -> None:
    app.command("replay", epilog="Example: `rota replay 0c6f…`, the id as in `rota executions`")(replay)


def replay(
    execution_id: Annotated[str, typer.Argument(help="As in `rota executions`, or its first characters.")],
    json: JsonFlag = False,
) -> None:
    """Replay a run on its recorded answers, without side effects. Exit code 1 if a decision differs."""
    execution_id = whole_id(EXECUTION, execution_id)
    found = with_api(lambda api: api.replay(execution_id))
    replayed = ReplayReply.model_validate(found)
    if json:
        say_json(found)
    else:
        table(("", "AT", "STEP", "OUTCOME", "REPLAYED"), (_row(each) for each in replayed.decisions))
        say(_verdict(replayed))
    if not replayed.same:
        raise typer.Exit(DIFFERS)


def _row(decision: Decision) -> tuple[object, ...]:
    differs = decision.replayed is not None
    return (
        "≠" if differs else "=",
        utc_time(decision.at),
        decision.step,
        decision.made or decision.outcome,
        decision.replayed,
    )


def _verdict(replayed: ReplayReply) -> str:
    count = len(replayed.decisions)
    if replayed.same:
        return f"the same: {count} decisions and the resulting execution"
    return f"not the same: {replayed.difference or 'unknown difference'}"
