"""`rota deliveries replay`: send one delivery, or a range of them, once more."""

from dataclasses import dataclass
from typing import Annotated
from uuid import uuid4

import typer

from rota import delivery_log
from rota.client import Api, Json
from rota.commands.deliveries import Execution, Member, Since, Target, Until, which
from rota.output import JsonFlag, say, say_json, table
from rota.running import with_api

EXAMPLES = "`rota deliveries replay 5f1e…`, or `rota deliveries replay --since 2h --until 1h --dry-run`"


@dataclass(frozen=True)
class Wish:
    """What is to be sent once more: the one `request_id`, or what fits `range`. `how` as the API wants it."""

    request_id: str
    range: dict[str, str]
    how: Json
    json: bool

    @property
    def name(self) -> str:
        return "dry run" if self.how["dry_run"] else f"replay {self.how['replay_id']}"


def register(app: typer.Typer) -> None:
    app.command("replay", epilog=f"Examples: {EXAMPLES}")(replay)


def replay(
    request_id: Annotated[str, typer.Argument(metavar="[ID]", help="One delivery, as in `rota deliveries`.")] = "",
    member: Member = "",
    execution: Execution = "",
    target: Target = "",
    since: Since = None,
    until: Until = None,
    every: Annotated[bool, typer.Option("--all", help="Also where it was received. Default: where it failed.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be sent.")] = False,
    replay_id: Annotated[str, typer.Option(help="Go on with a replay: what it has sent isn't sent twice.")] = "",
    json: JsonFlag = False,
) -> None:
    """Send deliveries once more, as deliveries of their own: to the targets that were given up, or to all."""
    range_ = which(member, execution, target, since, until)
    if bool(request_id) is bool(range_):
        options = "--since, --until, --member, --target, --execution"
        raise typer.BadParameter(f"expected the ID of one delivery, or at least one of {options}: one of the two")
    how: Json = {
        "targets": "all" if every else "failed",
        "replay_id": replay_id or str(uuid4()),
        "dry_run": dry_run,
    }
    wish = Wish(request_id, range_, how, json)
    _tell(wish, with_api(lambda api: _send(api, wish)))


async def _send(api: Api, wish: Wish) -> list[Json]:
    if wish.request_id:
        return [await delivery_log.replay_one(api, wish.request_id, wish.how)]
    sent: list[Json] = []
    async for page, more in delivery_log.replay_range(api, wish.range, wish.how):
        sent += page
        if more and not wish.json:
            say(f"{wish.name}: {_count(len(sent), 'delivery', 'deliveries')} so far")
    return sent


def _tell(wish: Wish, sent: list[Json]) -> None:
    count, targets = len(sent), sum(int(each["targets"]) for each in sent)
    if wish.json:
        told = {"replay_id": wish.how["replay_id"], "dry_run": wish.how["dry_run"], "replayed": sent}
        say_json(told | {"deliveries": count, "targets": targets})
    elif not sent:
        others = wish.how["targets"] == "all"
        say("nothing to send again" + ("" if others else ": nothing of it was given up (--all sends the rest too)"))
    elif wish.how["dry_run"]:
        table(("DELIVERY", "TARGETS"), [(each["replay_of"], each["targets"]) for each in sent])
        say(f"{_totals(count, targets)} would be sent again; nothing was sent")
    else:
        say(f"{wish.name}: {_totals(count, targets)} sent again; `rota deliveries` shows how it fares")


def _totals(deliveries: int, targets: int) -> str:
    return f"{_count(deliveries, 'delivery', 'deliveries')} to {_count(targets, 'target', 'targets')}"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
