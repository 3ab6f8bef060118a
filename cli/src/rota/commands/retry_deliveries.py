"""`rota deliveries retry`: what is pending, attempted now."""

from typing import Annotated

import typer

from rota import delivery_log
from rota.client import Api, Json
from rota.commands.deliveries import OPTIONS, Execution, Target, query
from rota.output import JsonFlag, say, say_json
from rota.running import with_api
from rota.selection import Member, Since, Until, check
from rota.short_ids import DELIVERY, whole_id

EXAMPLES = "`rota deliveries retry 5f1e…`, or `rota deliveries retry --target 9a2b…` once a receiver is back"


def register(app: typer.Typer) -> None:
    app.command("retry", epilog=f"Examples: {EXAMPLES}")(retry)


def retry(
    request_id: Annotated[str, typer.Argument(metavar="[ID]", help="One delivery, as in `rota deliveries`.")] = "",
    member: Member = "",
    execution: Execution = "",
    target: Target = "",
    since: Since = None,
    until: Until = None,
    json: JsonFlag = False,
) -> None:
    """Make the next attempts of pending deliveries within seconds, under the same webhook-id."""
    range_ = query(member, execution, target, since, until)
    check(request_id, range_, what="the ID of one delivery", options=OPTIONS)
    request_id = whole_id(DELIVERY, request_id)
    retried = with_api(lambda api: _retried(api, request_id, range_))
    if json:
        say_json({"retried": retried, "deliveries": len(retried)})
    elif not retried:
        say("nothing is pending there that waits (`rota deliveries replay` sends what failed)")
    else:
        count = f"{len(retried)} {'delivery is' if len(retried) == 1 else 'deliveries are'}"
        say(f"{count} attempted within seconds; `rota deliveries` shows their state")


async def _retried(api: Api, request_id: str, range_: dict[str, str]) -> list[Json]:
    if request_id:
        return [await delivery_log.retry_delivery(api, request_id)]
    return await delivery_log.retry_deliveries(api, range_)
