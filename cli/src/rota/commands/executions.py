"""`rota executions`: the team's runs, each from its trigger to its lessons."""

import sys
from pathlib import Path
from shutil import get_terminal_size
from typing import Annotated

import typer

from rota.client import Api, Json
from rota.output import JsonFlag, say, say_json, table
from rota.running import with_api
from rota.short_ids import EXECUTION, whole_id
from rota.waiting import delivery_of
from rota_contracts.run_status import ExecStatus

app = typer.Typer(help="List the team's runs, show one, or retry some.", invoke_without_command=True)

ExecutionId = Annotated[str, typer.Argument(help="As in `rota executions`, or its first characters.")]


@app.callback(epilog="Example: `rota executions --robot lead-processor --status failed`")
def listed(
    context: typer.Context,
    member: Annotated[str, typer.Option("--robot", "--member", help="Only this robot's.")] = "",
    status: Annotated[ExecStatus | None, typer.Option(help="Only those with this status.")] = None,
    page: Annotated[int, typer.Option(min=1, help="The page by its number, the newest runs first.")] = 1,
    after: Annotated[str, typer.Option(help="Continue after the previous page, which shows the value.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=100, help="Maximum number.")] = 10,
    json: JsonFlag = False,
) -> None:
    """List the team's runs, show one, or retry some."""
    if context.invoked_subcommand is not None:
        return
    wanted: dict[str, str | int] = {"page": page, "limit": limit}
    if member:
        wanted["member_id"] = member
    if after:
        wanted["after"] = after
    if status:
        wanted["status"] = status.value
    found = with_api(lambda api: api.executions(wanted))
    if json:
        say_json(found)
        return
    rows = [
        (one["execution_id"], one["member_id"], one["trigger_type"], one["status"], one["phase"], one["created_at"])
        for one in found["executions"]
    ]
    table(("EXECUTION", "MEMBER", "TRIGGER", "STATUS", "PHASE", "CREATED"), rows)
    if not after:
        more = " or more" if found.get("total_capped") else ""
        say(f"page {found['page']}, {found['total']}{more} in total")
    if found.get("next"):
        say(f"next page: --after {found['next']}")


@app.command(epilog="Example: `rota executions show 0c6f…`, the id as listed")
def show(execution_id: ExecutionId, json: JsonFlag = False) -> None:
    """Show one run: its phases, tasks, tool uses, verdicts, interventions, deliveries and lessons."""
    execution_id = whole_id(EXECUTION, execution_id)

    async def read(api: Api) -> tuple[Json, Json | None]:
        return await api.execution(execution_id), await delivery_of(api, execution_id)

    found, delivery = with_api(read)
    if json:
        say_json(found | {"delivery_attempts": delivery})
        return
    # The models of a run take longer to import than all the rest of this command.
    from rota.report import report
    from rota_contracts.messages.delivery import DeliveryReply
    from rota_contracts.messages.execution import Execution

    attempts = None if delivery is None else DeliveryReply.model_validate(delivery)
    for line in report(Execution.model_validate(found), attempts):
        say(line)


@app.command(epilog="Example: `rota executions trail 0c6f…`, then `rota executions trail 0c6f… --step 4`")
def trail(
    execution_id: ExecutionId,
    step: Annotated[int | None, typer.Option(min=1, help="One step by its number, with all its words.")] = None,
    json: JsonFlag = False,
) -> None:
    """Show what the models wrote in a run, step by step, and what was made of it; with model, tokens and seconds."""
    execution_id = whole_id(EXECUTION, execution_id)
    found = with_api(lambda api: api.trail(execution_id, step))
    if json:
        say_json(found)
        return
    from rota.trail import trail_lines
    from rota_contracts.messages.run_trail import TrailReply

    for line in trail_lines(TrailReply.model_validate(found)):
        say(line)


@app.command(epilog="Example: `rota executions trace 0c6f…`, the id as listed")
def trace(
    execution_id: ExecutionId,
    svg: Annotated[Path | None, typer.Option(help="Also write the picture to this file.")] = None,
    json: JsonFlag = False,
) -> None:
    """Show where a run's time went, from its trigger over phases and calls to its deliveries; with tokens and cost."""
    execution_id = whole_id(EXECUTION, execution_id)
    found = with_api(lambda api: api.trace(execution_id))
    from rota.trace import signs_for, trace_lines
    from rota_contracts.messages.run_trace import TraceReply

    read = TraceReply.model_validate(found)
    if svg is not None:
        from rota.trace_svg import trace_svg

        svg.write_text(trace_svg(read), encoding="utf-8")
    if json:
        say_json(found)
        return
    width, signs = max(get_terminal_size().columns, 60), signs_for(sys.stdout.encoding)
    for line, style in trace_lines(read, width=width, signs=signs):
        say(line, style=style)
