"""`rota deliveries`: the delivery log with every attempt, and replays."""

from datetime import datetime
from typing import Annotated

import typer

from rota import delivery_log
from rota.output import JsonFlag, say, say_json, table
from rota.report_delivery import deliveries as report
from rota.running import with_api
from rota.selection import Member, Since, Until, parameters
from rota.short_ids import DELIVERY, EXECUTION, whole_id
from rota.timestamps import utc_time
from rota_contracts.messages.delivery import DeliveryReply
from rota_contracts.messages.delivery_log import DeliveryPage, DeliveryState, DeliverySummary, TargetState

MARKS = {TargetState.DELIVERED: "✓", TargetState.FAILED: "✗", TargetState.RETRYING: "…"}

app = typer.Typer(help="List deliveries, show one, retry or replay some.", invoke_without_command=True)

RequestId = Annotated[str, typer.Argument(help="As in `rota deliveries`, or its first characters.")]
Target = Annotated[str, typer.Option(help="Only those to this target, by its id as in `rota targets`.")]
Execution = Annotated[str, typer.Option(help="Only this run's.")]
OPTIONS = "--target, --since, --until, --robot, --execution"
"""Those that `query` takes."""


@app.callback(epilog="Example: `rota deliveries --state failed --since 1h`")
def listed(
    context: typer.Context,
    member: Member = "",
    execution: Execution = "",
    target: Target = "",
    state: Annotated[DeliveryState | None, typer.Option(help="Only those in this state.")] = None,
    since: Since = None,
    until: Until = None,
    after: Annotated[str, typer.Option(help="Continue after the previous page, which shows the value.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=200, help="Maximum number.")] = 50,
    json: JsonFlag = False,
) -> None:
    """List the team's deliveries, the newest first; show one, or replay some."""
    if context.invoked_subcommand is not None:
        return
    wanted = query(member, execution, target, since, until) | ({"state": state.value} if state else {})
    found = with_api(lambda api: delivery_log.list_deliveries(api, {**wanted, "limit": limit, "after": after}))
    if json:
        say_json(found)
        return
    page = DeliveryPage.model_validate(found)
    if not page.deliveries:
        say("No deliveries match.")
        return
    table(("AT (UTC)", "DELIVERY", "MEMBER", "STATE", "TARGETS"), [_row(each) for each in page.deliveries])
    if page.next:
        say(f"next page: --after {page.next}")


@app.command(epilog="Example: `rota deliveries show 5f1e…`, the id as listed")
def show(request_id: RequestId, json: JsonFlag = False) -> None:
    """Show one delivery: each target, and every attempt at it with the receiver's response."""
    request_id = whole_id(DELIVERY, request_id)
    found = with_api(lambda api: delivery_log.read_delivery(api, request_id))
    if json:
        say_json(found)
        return
    delivery = DeliveryReply.model_validate(found)
    for line in [*_head(delivery), *report(None, delivery)]:
        say(line)
    for target in delivery.targets:
        say(f"target {target.result.target_id or '-'} is {target.result.type.value} {target.result.target}")


def query(member: str, execution: str, target: str, since: datetime | None, until: datetime | None) -> dict[str, str]:
    """The API's parameters, without those that are not given."""
    execution = whole_id(EXECUTION, execution)
    return parameters(member_id=member, execution_id=execution, target_id=target, since=since, until=until)


def _row(delivery: DeliverySummary) -> tuple[object, ...]:
    marked = [f"{MARKS[each.state]} {each.type.value} {each.target} ×{each.attempts}" for each in delivery.targets]
    state = f"{delivery.state.value}{' (replay)' if delivery.replay_of else ''}"
    return utc_time(delivery.created_at), delivery.request_id, delivery.member_id, state, ", ".join(marked) or "none"


def _head(delivery: DeliveryReply) -> list[str]:
    context = delivery.context
    fields = {
        "delivery": delivery.request_id,
        "member": context and context.member_id,
        "execution": context and context.execution_id,
        "accepted": delivery.accepted_at and f"{utc_time(delivery.accepted_at)} UTC",
        "state": "settled" if delivery.settled else "in progress",
        "replay of": delivery.replay_of,
        "summary": delivery.summary,
    }
    return [f"{name:<10} {value}" for name, value in fields.items() if value]
