"""`rota quarantine`: results that failed validation, until a person releases or drops them."""

from typing import Annotated
from urllib.parse import quote

import typer

from rota.output import JsonFlag, say, say_json, table
from rota.running import with_api
from rota.selection import parameters
from rota.short_ids import EXECUTION, QUARANTINED, whole_id
from rota.timestamps import utc_time
from rota_contracts.messages.quarantine import Quarantined, QuarantineDecision, QuarantinePage, QuarantineStatus

app = typer.Typer(
    help="List results that failed validation, show one, release or drop one.", invoke_without_command=True
)

QuarantineId = Annotated[str, typer.Argument(help="As in `rota quarantine`, or its first characters.")]
Note = Annotated[str, typer.Option(help="Stored with the decision.")]
COLUMNS = ("HELD (UTC)", "ID", "MEMBER", "EXECUTION", "SCORE", "STATUS", "TASK")


@app.callback(epilog="Example: `rota quarantine --robot lead-processor`")
def listed(
    context: typer.Context,
    member: Annotated[str, typer.Option("--robot", "--member", help="Only this robot's.")] = "",
    execution: Annotated[str, typer.Option(help="Only this run's.")] = "",
    status: Annotated[QuarantineStatus, typer.Option(help="Only those with this status.")] = QuarantineStatus.HELD,
    every: Annotated[bool, typer.Option("--all", help="Those that were released or dropped, too.")] = False,
    after: Annotated[str, typer.Option(help="Continue after the previous page, which shows the value.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=100, help="Maximum number of runs.")] = 50,
    json: JsonFlag = False,
) -> None:
    """List results that failed validation, those of the newest runs first; show one, release or drop one."""
    if context.invoked_subcommand is not None:
        return
    wanted: dict[str, object] = {"limit": limit, **({} if every else {"status": status.value})}
    wanted |= parameters(member_id=member, execution_id=whole_id(EXECUTION, execution), after=after)
    found = with_api(lambda api: api.of_team("GET", "/quarantine", params=wanted))
    if json:
        say_json(found)
        return
    page = QuarantinePage.model_validate(found)
    if not page.results:
        say("No result is in quarantine." if not (every or member or execution) else "No results match.")
    else:
        table(COLUMNS, map(_row, page.results))
    if page.next:
        say(f"next page: --after {page.next}")


@app.command(epilog="Example: `rota quarantine show b7a1…`, the id as listed")
def show(quarantine_id: QuarantineId, json: JsonFlag = False) -> None:
    """Show one result: its score, what is wrong with it, and its output."""
    quarantine_id = whole_id(QUARANTINED, quarantine_id)
    found = with_api(lambda api: api.of_team("GET", _path(quarantine_id)))
    if json:
        say_json(found)
        return
    for line in _lines(Quarantined.model_validate(found)):
        say(line)
    say("")
    say(found["output"])
    if found["cut"]:
        say("… (cut)")


@app.command(epilog='Example: `rota quarantine release b7a1… --note "the figures are right"`')
def release(quarantine_id: QuarantineId, note: Note = "", json: JsonFlag = False) -> None:
    """Release a result: it is delivered to the robot's targets, once."""
    _decide(quarantine_id, QuarantineDecision.RELEASE, note, json=json)


@app.command(epilog='Example: `rota quarantine drop b7a1… --note "made up"`')
def drop(quarantine_id: QuarantineId, note: Note = "", json: JsonFlag = False) -> None:
    """Drop a result: it is never delivered."""
    _decide(quarantine_id, QuarantineDecision.DROP, note, json=json)


def _decide(quarantine_id: str, decision: QuarantineDecision, note: str, *, json: bool) -> None:
    quarantine_id = whole_id(QUARANTINED, quarantine_id)
    path = f"{_path(quarantine_id)}/{decision.value}"
    found = with_api(lambda api: api.of_team("POST", path, json={"note": note}))
    if json:
        say_json(found)
        return
    result = Quarantined.model_validate(found)
    say(f"{quarantine_id}: {result.status.value}")
    if result.status is QuarantineStatus.RELEASED:
        say(f"See its delivery with `rota deliveries --execution {result.execution_id}`.")


def _path(quarantine_id: str) -> str:
    return f"/quarantine/{quote(quarantine_id, safe='')}"


def _row(result: Quarantined) -> tuple[object, ...]:
    where = (utc_time(result.held_at), result.quarantine_id, result.member_id, result.execution_id)
    return *where, f"{result.score:g}", result.status.value, result.task


def _lines(result: Quarantined) -> list[str]:
    decided = result.decided_at and f"{utc_time(result.decided_at)} UTC by {result.decided_by}"
    fields = {
        "result": result.quarantine_id,
        "member": result.member_id,
        "execution": result.execution_id,
        "task": f"{result.task_id}: {result.task}",
        "held": f"{utc_time(result.held_at)} UTC",
        "status": result.status.value,
        "decided": decided,
        "note": result.note,
        "score": f"{result.score:g}",
    }
    return [f"{name:<10} {value}" for name, value in fields.items() if value] + [
        f"issue      {i}" for i in result.issues
    ]
