"""`rota executions retry`: rejected and failed runs once more, each as a new run."""

from typing import Annotated

import typer

from rota.client import Api, Json
from rota.output import JsonFlag, say, say_json
from rota.retries import Retries, retry_by_id, retry_range
from rota.running import with_api
from rota.selection import Member, Since, Until, check, parameters
from rota.short_ids import EXECUTION, whole_id
from rota_contracts.run_status import RetryableStatus

EXAMPLES = "`rota executions retry 0c6f…`, or `rota executions retry --status rejected --since 2h --dry-run`"


def register(app: typer.Typer) -> None:
    app.command("retry", epilog=f"Examples: {EXAMPLES}")(retry)


def retry(
    execution_ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]…", help="Runs, also rejected ones.")
    ] = None,
    member: Member = "",
    status: Annotated[RetryableStatus | None, typer.Option(help="Only those rejected, or those failed.")] = None,
    since: Since = None,
    until: Until = None,
    force: Annotated[bool, typer.Option("--force", help="Also if the outcome of one of its calls is unknown.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be retried.")] = False,
    json: JsonFlag = False,
) -> None:
    """Run rejected or failed runs again, each as a new run on its robot's current revision, linked to the old one.
    Asked twice it is the same new run: to run it once more, retry that one."""
    range_ = parameters(member_id=member, status=status, since=since, until=until)
    check(execution_ids or (), range_, what="the IDs of runs", options="--status, --since, --until, --robot")
    how: Json = {"force": force, "dry_run": dry_run}
    ids = [whole_id(EXECUTION, each) for each in execution_ids or ()]
    done = Retries()

    async def send(api: Api) -> None:
        if ids:
            await retry_by_id(api, ids, how, done)
        else:
            await retry_range(api, range_, how, done)

    with_api(send)
    if json:
        say_json({"dry_run": dry_run, "retried": done.retried, "refused": done.refused})
    else:
        _print(done, dry_run=dry_run, each=bool(ids) or dry_run)
    if done.refused:
        raise typer.Exit(1)


def _print(done: Retries, *, dry_run: bool, each: bool) -> None:
    """`each`: a line for each that is retried, too."""
    if not done.retried and not done.refused:
        say("nothing to retry: no run was rejected or has failed there")
        return
    if each:
        for one in done.retried:
            say(
                f"{one['retry_of']}: " + ("would be retried" if dry_run else f"{one['execution_id']}, {one['message']}")
            )
    for one in done.refused:
        say(f"{one['execution_id']}: not retried: {one['message']}")
    repeats = sum(bool(one["repeated"]) for one in done.retried)
    again = f", {repeats} had been before" if repeats else ""
    count = len(done.retried) - repeats
    text = f"{count} {'run' if count == 1 else 'runs'} {'would be ' if dry_run else ''}retried{again}"
    say(text + (f", {len(done.refused)} not" if done.refused else ""))
