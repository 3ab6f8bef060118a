"""`rota deliveries replay`: replays of one delivery, or of a range."""

from dataclasses import dataclass
from typing import Annotated
from uuid import uuid4

import typer

from rota import delivery_log
from rota.client import Api, Json
from rota.commands.deliveries import OPTIONS, Execution, Target, query
from rota.output import JsonFlag, say, say_json, table
from rota.running import with_api
from rota.selection import Member, Since, Until, check
from rota.short_ids import DELIVERY, whole_id

EXAMPLES = "`rota deliveries replay 5f1e…`, or `rota deliveries replay --since 2h --until 1h --dry-run`"


@dataclass(frozen=True)
class ReplayRequest:
    """One delivery by `request_id`, or those that match `range`. `how` is the API's body."""

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
    every: Annotated[bool, typer.Option("--all", help="All targets. Default: the failed ones.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be sent.")] = False,
    replay_id: Annotated[str, typer.Option(help="Continue this replay; nothing is sent twice.")] = "",
    json: JsonFlag = False,
) -> None:
    """Replay deliveries, each as a new delivery: to the targets that failed, or to all."""
    range_ = query(member, execution, target, since, until)
    check(request_id, range_, what="the ID of one delivery", options=OPTIONS)
    how: Json = {
        "targets": "all" if every else "failed",
        "replay_id": replay_id or str(uuid4()),
        "dry_run": dry_run,
    }
    request = ReplayRequest(whole_id(DELIVERY, request_id), range_, how, json)
    _print(request, with_api(lambda api: _send(api, request)))


async def _send(api: Api, request: ReplayRequest) -> list[Json]:
    if request.request_id:
        return [await delivery_log.replay_delivery(api, request.request_id, request.how)]
    sent: list[Json] = []
    async for page, more in delivery_log.replay_deliveries(api, request.range, request.how):
        sent += page
        if more and not request.json:
            say(f"{request.name}: {_count(len(sent), 'delivery', 'deliveries')} so far")
    return sent


def _print(request: ReplayRequest, sent: list[Json]) -> None:
    count, targets = len(sent), sum(int(each["targets"]) for each in sent)
    if request.json:
        summary = {"replay_id": request.how["replay_id"], "dry_run": request.how["dry_run"], "replayed": sent}
        say_json(summary | {"deliveries": count, "targets": targets})
    elif not sent:
        every = request.how["targets"] == "all"
        say("nothing to replay" + ("" if every else ": no target failed (--all includes the others)"))
    elif request.how["dry_run"]:
        table(("DELIVERY", "TARGETS"), [(each["replay_of"], each["targets"]) for each in sent])
        say(f"{_totals(count, targets)} would be replayed; nothing was sent")
    else:
        one = f"`rota deliveries show {sent[0]['request_id']}` shows its state"
        shown = one if count == 1 else "`rota deliveries` shows their state"
        say(f"{request.name}: {_totals(count, targets)} replayed; {shown}")


def _totals(deliveries: int, targets: int) -> str:
    return f"{_count(deliveries, 'delivery', 'deliveries')} to {_count(targets, 'target', 'targets')}"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
