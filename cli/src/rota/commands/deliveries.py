"""`rota deliveries`: where results went and how they fared, try by try; send them once more."""

from datetime import datetime
from typing import Annotated

import typer

from rota import delivery_log
from rota.output import JsonFlag, say, say_json, table
from rota.report_delivery import deliveries as report
from rota.running import with_api
from rota.timestamps import ago, moment
from rota_contracts.messages.delivery import DeliveryReply
from rota_contracts.messages.delivery_log import DeliveryPage, DeliveryState, DeliverySummary, TargetState

MARKS = {TargetState.DELIVERED: "✓", TargetState.FAILED: "✗", TargetState.RETRYING: "…"}
WHEN = "How long ago, like 1h or 2d, or a time with its offset."

app = typer.Typer(help="List deliveries, show one, or send some once more.", invoke_without_command=True)

RequestId = Annotated[str, typer.Argument(help="As in `rota deliveries`.")]
Member = Annotated[str, typer.Option(help="Only this robot's.")]
Target = Annotated[str, typer.Option(help="Only those to this place: its id as in `rota targets`, or shown with one.")]
Execution = Annotated[str, typer.Option(help="Only this run's.")]
Since = Annotated[datetime | None, typer.Option(parser=ago, metavar="TIME", help=f"From then on. {WHEN}")]
Until = Annotated[datetime | None, typer.Option(parser=ago, metavar="TIME", help=f"Before then. {WHEN}")]


@app.callback(epilog="Example: `rota deliveries --state failed --since 1h`")
def listed(
    context: typer.Context,
    member: Member = "",
    execution: Execution = "",
    target: Target = "",
    state: Annotated[DeliveryState | None, typer.Option(help="Only those in this state.")] = None,
    since: Since = None,
    until: Until = None,
    after: Annotated[str, typer.Option(help="Go on where the list before ended; it says how.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many.")] = 50,
    json: JsonFlag = False,
) -> None:
    """List the team's deliveries, the newest first; show one, or send some once more."""
    if context.invoked_subcommand is not None:
        return
    wanted = which(member, execution, target, since, until) | ({"state": state.value} if state else {})
    found = with_api(lambda api: delivery_log.listed(api, {**wanted, "limit": limit, "after": after}))
    if json:
        say_json(found)
        return
    page = DeliveryPage.model_validate(found)
    if not page.deliveries:
        say("There are no such deliveries.")
        return
    table(("AT (UTC)", "DELIVERY", "MEMBER", "STATE", "TARGETS"), [_row(each) for each in page.deliveries])
    if page.next:
        say(f"there are more: add --after {page.next}")


@app.command(epilog="Example: `rota deliveries show 5f1e…`, the id as listed")
def show(request_id: RequestId, json: JsonFlag = False) -> None:
    """Show one delivery: each target, and every attempt at it with what the receiver said."""
    found = with_api(lambda api: delivery_log.read(api, request_id))
    if json:
        say_json(found)
        return
    delivery = DeliveryReply.model_validate(found)
    for line in [*_head(delivery), *report(None, delivery)]:
        say(line)
    for target in delivery.targets:
        say(f"target {target.result.target_id or '-'} is {target.result.type.value} {target.result.target}")


def which(member: str, execution: str, target: str, since: datetime | None, until: datetime | None) -> dict[str, str]:
    """As the API names it; what isn't given doesn't count."""
    given = {
        "member_id": member,
        "execution_id": execution,
        "target_id": target,
        "since": since and since.isoformat(),
        "until": until and until.isoformat(),
    }
    return {name: value for name, value in given.items() if value}


def _row(delivery: DeliverySummary) -> tuple[object, ...]:
    marked = [f"{MARKS[each.state]} {each.type.value} {each.target} ×{each.attempts}" for each in delivery.targets]
    state = f"{delivery.state.value}{' (replay)' if delivery.replay_of else ''}"
    return moment(delivery.created_at), delivery.request_id, delivery.member_id, state, ", ".join(marked) or "none"


def _head(delivery: DeliveryReply) -> list[str]:
    context = delivery.context
    told = {
        "delivery": delivery.request_id,
        "member": context and context.member_id,
        "execution": context and context.execution_id,
        "accepted": delivery.accepted_at and f"{moment(delivery.accepted_at)} UTC",
        "state": "nothing more is tried" if delivery.settled else "is still being tried",
        "replay of": delivery.replay_of,
        "summary": delivery.summary,
    }
    return [f"{name:<10} {value}" for name, value in told.items() if value]
