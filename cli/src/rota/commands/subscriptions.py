"""`rota subscriptions`: subscribers to the notification channels of robots."""

from typing import Annotated

import typer

from rota.output import JsonFlag, say, say_json, table
from rota.running import with_api

app = typer.Typer(help="List the subscriptions to notifications, add one, or remove one.", invoke_without_command=True)

Channel = Annotated[str, typer.Argument(help="As in the robots' delivery.preferences.notify.")]
Subscriber = Annotated[str, typer.Argument(help="The subscriber: a name of letters, digits, _ and -.")]


@app.callback(epilog="Example: `rota subscriptions --channel sales`")
def listed(
    context: typer.Context,
    channel: Annotated[str, typer.Option(help="Only this channel's.")] = "",
    json: JsonFlag = False,
) -> None:
    """List the subscriptions to the robots' notifications; add one, or remove one."""
    if context.invoked_subcommand is not None:
        return
    found = with_api(lambda api: api.subscriptions({"channel": channel} if channel else {}))
    if json:
        say_json(found)
    elif not found:
        say("There are no subscriptions: rota subscriptions add CHANNEL SUBSCRIBER")
    else:
        rows = [(one["channel"], one["subscriber"], one["created_at"]) for one in found]
        table(("CHANNEL", "SUBSCRIBER", "SINCE"), rows)


@app.command(epilog="Example: `rota subscriptions add sales ada`")
def add(channel: Channel, subscriber: Subscriber, json: JsonFlag = False) -> None:
    """Subscribe to a channel. A name other than this key's own needs an admin's key."""
    added = with_api(lambda api: api.add_subscription({"channel": channel, "subscriber": subscriber}))
    if json:
        say_json(added)
    else:
        say(f"{subscriber}: subscribes to {channel}")


@app.command(epilog="Example: `rota subscriptions remove sales ada`")
def remove(channel: Channel, subscriber: Subscriber, json: JsonFlag = False) -> None:
    """Remove a subscription. Succeeds if there is none."""
    with_api(lambda api: api.remove_subscription({"channel": channel, "subscriber": subscriber}))
    if json:
        say_json({"channel": channel, "subscriber": subscriber, "outcome": "removed"})
    else:
        say(f"{subscriber}: no longer subscribes to {channel}")
