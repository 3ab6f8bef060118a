"""`rota approvals`: calls of tools and processes that wait for a person."""

import sys
from typing import Annotated

import typer

from rota import approvals
from rota.client import Api, Json
from rota.errors import CliError
from rota.output import JsonFlag, excerpt, say, say_json, table
from rota.running import with_api
from rota.short_ids import APPROVAL, EXECUTION, whole_id

app = typer.Typer(help="List the calls that wait for an approval, show one, or decide.", invoke_without_command=True)

ANSWERS = {"y": "approve", "n": "deny", "a": "always"}
SHOWN = 60

ApprovalId = Annotated[str, typer.Argument(metavar="ID", help="As in `rota approvals`, or its first characters.")]
Note = Annotated[str, typer.Option(help="For the robot and the audit: why.")]


@app.callback(epilog="Example: `rota approvals --robot lead-processor`")
def listed(
    context: typer.Context,
    member: Annotated[str, typer.Option("--robot", "--member", help="Of this robot alone.")] = "",
    execution: Annotated[str, typer.Option(help="Of this run alone.")] = "",
    json: JsonFlag = False,
) -> None:
    """List the calls that wait for an approval, the oldest first."""
    if context.invoked_subcommand is not None:
        return
    execution = whole_id(EXECUTION, execution)
    filters = {name: value for name, value in (("member_id", member), ("execution_id", execution)) if value}
    found = with_api(lambda api: approvals.waiting(api, filters))
    if json:
        say_json(found)
    elif not found:
        say("No call waits for an approval.")
    else:
        rows = [
            (one["approval_id"], one["member_id"], one["tool"], excerpt(one["arguments"], SHOWN), one["expires_at"])
            for one in found
        ]
        table(("APPROVAL", "MEMBER", "TOOL", "ARGS", "UNTIL"), rows)


@app.command(epilog="Example: `rota approvals show 6d1c6a77…`")
def show(approval: ApprovalId, json: JsonFlag = False) -> None:
    """Show a call with its arguments, decided or not."""
    approval = whole_id(APPROVAL, approval)
    found = with_api(lambda api: approvals.read(api, approval))
    if json:
        say_json(found)
    else:
        _show(found)


@app.command(epilog='Example: `rota approvals approve 6d1c6a77… --note "checked with sales"`')
def approve(
    approval: ApprovalId,
    always: Annotated[bool, typer.Option("--always", help="Further calls of this tool in the same run, too.")] = False,
    note: Note = "",
    json: JsonFlag = False,
) -> None:
    """Approve a call with exactly the arguments that are shown."""
    _decide(approval, "always" if always else "approve", note, json=json)


@app.command(epilog='Example: `rota approvals deny 6d1c6a77… --note "the wrong lead"`')
def deny(approval: ApprovalId, note: Note = "", json: JsonFlag = False) -> None:
    """Deny a call: the robot goes on without it."""
    _decide(approval, "deny", note, json=json)


@app.command("decide", epilog="Example: `rota approvals decide`, or `rota approvals decide 6d1c6a77…`")
def decide_one_by_one(
    approval: Annotated[str, typer.Argument(metavar="[ID]", help="One of them; without it all that wait.")] = "",
    json: JsonFlag = False,
) -> None:
    """Show each call that waits, and ask: y approves it, n denies it, a approves this tool for its whole run."""
    if not sys.stdin.isatty():
        hint = "`rota approvals approve ID` and `rota approvals deny ID` decide without a prompt"
        raise CliError("expected a terminal: this command asks about each call", hint=hint)

    approval = whole_id(APPROVAL, approval)

    async def find(api: Api) -> list[Json]:
        return [await approvals.read(api, approval)] if approval else await approvals.waiting(api, {})

    found = with_api(find)
    if not found and not json:
        say("No call waits for an approval.")
    for shown in found:
        _show(shown, stderr=json)
        if shown["status"] != "pending":
            continue
        answer = typer.prompt("y: approve, n: deny, a: always in this run, s: skip", default="s", err=True).lower()
        if decision := ANSWERS.get(answer.strip()):
            _print(_sent(shown, decision, ""), json=json)


def _decide(approval: str, decision: str, note: str, *, json: bool) -> None:
    """The arguments that are shown are those that are decided about."""
    approval = whole_id(APPROVAL, approval)
    shown = with_api(lambda api: approvals.read(api, approval))
    if not json:
        _show(shown)
    _print(_sent(shown, decision, note), json=json)


def _sent(shown: Json, decision: str, note: str) -> Json:
    return with_api(lambda api: approvals.decide(api, shown, decision, note))


def _show(approval: Json, *, stderr: bool = False) -> None:
    for line in (approvals.question(approval), *approvals.facts(approval)):
        if stderr:
            typer.echo(line, err=True)
        else:
            say(line)


def _print(decided: Json, *, json: bool) -> None:
    if json:
        say_json(decided)
    else:
        say(f"{decided['approval_id']}: {decided['status']}{' already' if decided.get('repeated') else ''}")
