"""`rota connectors`: which models there are, and what of one works."""

from typing import Annotated
from urllib.parse import quote

import typer

from rota.output import JsonFlag, say, say_json, table
from rota.running import with_api
from rota.selection import parameters
from rota.trail import money_text
from rota_contracts.messages.provider import (
    TEST_TIMEOUT_S,
    Capability,
    CheckOutcome,
    CheckResult,
    Provider,
    ProviderList,
    TryConnectorReply,
)

COLUMNS = ("ID", "MODEL", "CAN", "FALLBACKS", "USABLE")
CHECK_COLUMNS = ("CHECK", "OUTCOME", "SECONDS", "PROBLEM")
MARGIN_S = 15
"""Waited on top of the test's own limit, so that the gateway can report that it was reached."""

DOES_NOT_WORK = 1

app = typer.Typer(
    help="List the connectors that the team may use and what the model of each can, or test one.", no_args_is_help=True
)


@app.command("list", epilog="Example: `rota connectors list --filters tool_calls,vision`")
def list_connectors(
    filters: Annotated[
        str, typer.Option(help=f"Only those that can all of this, with commas: {', '.join(Capability)}.")
    ] = "",
    agent: Annotated[str, typer.Option(metavar="ID", help="Only those that this agent offers its callers.")] = "",
    json: JsonFlag = False,
) -> None:
    """List the connectors that the team may use. * is the default one."""
    wanted = parameters(filters=filters, agent=agent)
    found = with_api(lambda api: api.of_team("GET", "/llm/providers", params=wanted))
    if json:
        say_json(found)
        return
    providers = ProviderList.model_validate(found).providers
    if providers:
        table(COLUMNS, map(_row, providers))
    else:
        say("No connector can all of this.")


@app.command("test", epilog="Example: `rota connectors test openai`")
def try_connector(
    connector: Annotated[str, typer.Argument(metavar="NAME", help="As in `rota connectors list`.")],
    json: JsonFlag = False,
) -> None:
    """Test a connector: show what works and what it cost. Exit code 1 if something fails.

    Its model gets up to five short calls: a plain one, then for streaming, tools, JSON and vision, without those that
    the connector's capabilities deny.
    """
    path = f"/llm/providers/{quote(connector, safe='')}/test"
    found = with_api(lambda api: api.of_team("POST", path, timeout=TEST_TIMEOUT_S + MARGIN_S))
    tried = TryConnectorReply.model_validate(found)
    if json:
        say_json(found)
    else:
        table(CHECK_COLUMNS, map(_check_row, tried.checks))
        say(_cost(tried))
    if any(check.outcome in (CheckOutcome.FAILS, CheckOutcome.NOT_TRIED) for check in tried.checks):
        raise typer.Exit(DOES_NOT_WORK)


def _check_row(check: CheckResult) -> tuple[object, ...]:
    return check.name, check.outcome.replace("_", " "), f"{check.seconds:.1f}" if check.seconds else "-", check.problem


def _cost(tried: TryConnectorReply) -> str:
    if not tried.calls:
        return "No model has answered."
    cost = "its cost isn't known" if tried.cost is None else money_text(tried.cost, tried.currency)
    unmeasured = f" ({tried.unmeasured} of them without usage)" if tried.unmeasured else ""
    calls = "1 call" if tried.calls == 1 else f"{tried.calls} calls"
    return f"{calls}{unmeasured}, {tried.usage.tokens_in} + {tried.usage.tokens_out} tokens, {cost}"


def _row(provider: Provider) -> tuple[object, ...]:
    can = [name if value is True else f"{name} ({value})" for name, value in provider.capabilities.items() if value]
    name, usable = f"{provider.id}{'*' if provider.default else ''}", provider.problem or "yes"
    return name, provider.model or "-", ", ".join(can), ", ".join(provider.fallbacks) or "-", usable
