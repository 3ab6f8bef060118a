"""`rota agents`: who can be asked, and a question to one."""

import json as jsonlib
import sys
from typing import Annotated
from urllib.parse import quote

import typer

from rota.client import Api, Json
from rota.commands import agent_files
from rota.errors import CliError
from rota.output import JsonFlag, excerpt, say, say_json, table
from rota.running import with_api
from rota.selection import parameters
from rota.timestamps import utc_time
from rota_contracts.messages.agent import DEFAULT_TIMEOUT_S, AbortedCalls, CallList, CallUnderWay
from rota_contracts.messages.provider import AgentCard, AgentList

EXCERPT = 80
CALL_COLUMNS = ("CALL", "AGENT", "ROBOT", "CHAT", "BEGAN (UTC)")
COLUMNS = ("ID", "NAME", "CONNECTOR", "MODES", "TAGS", "DESCRIPTION")

app = typer.Typer(
    help="List the agents that the team may use, ask one, and see or abort the calls under way.", no_args_is_help=True
)
app.add_typer(agent_files.app, name="files")


@app.command("list", epilog="Example: `rota agents list --tags Data`")
def list_agents(
    tags: Annotated[str, typer.Option(help="Only those with all of these tags, with commas.")] = "",
    json: JsonFlag = False,
) -> None:
    """List the agents that the team may use: those of the operator's files, and the platform's own."""
    found = with_api(lambda api: api.of_team("GET", "/agents", params=parameters(tags=tags)))
    if json:
        say_json(found)
        return
    agents = AgentList.model_validate(found).agents
    if agents:
        table(COLUMNS, map(_row, agents))
    else:
        say(f"No agent has the tags {tags}.")


@app.command("call", epilog='Example: `rota agents call yao.keeper "Classify this."`')
def call_agent(
    agent: Annotated[str, typer.Argument(help="The agent's id.")],
    message: Annotated[str, typer.Argument(help="What to ask; - reads standard input.")],
    robot: Annotated[str, typer.Option(metavar="ID", help="Ask as this robot, with its identity and agents.")] = "",
    model: Annotated[str, typer.Option(metavar="CONNECTOR", help="In place of the agent's own.")] = "",
    locale: Annotated[str, typer.Option(help="Of the answer, for example zh-CN.")] = "",
    metadata: Annotated[str, typer.Option(help="A JSON object for the agent's hooks.")] = "{}",
    timeout: Annotated[float, typer.Option(help="Maximum seconds to wait for the answer.")] = DEFAULT_TIMEOUT_S,
    json: JsonFlag = False,
) -> None:
    """Ask an agent, and print its answer while it is written. Exit code 1 if there is none."""
    text = sys.stdin.read() if message == "-" else message
    given = parameters(member_id=robot, model=model, locale=locale)
    body = {"messages": [{"role": "user", "content": text}], "timeout": timeout, "metadata": _object(metadata), **given}
    answer = with_api(lambda api: _answer(api, agent, body, shown=not json))
    if json:
        say_json(answer)
    if answer["error"]:
        raise CliError(f"agent {agent} has no answer: {answer['error']}")


@app.command("calls", epilog="Example: `rota agents calls`")
def list_calls(
    chat: Annotated[str, typer.Option(metavar="ID", help="Only those of this chat.")] = "", json: JsonFlag = False
) -> None:
    """List the calls of agents that are under way."""
    found = with_api(lambda api: api.of_team("GET", "/calls", params=parameters(chat_id=chat)))
    if json:
        say_json(found)
        return
    calls = CallList.model_validate(found).calls
    if calls:
        table(CALL_COLUMNS, map(_call_row, calls))
    else:
        say("No call of an agent is under way.")


@app.command("abort", epilog="Example: `rota agents abort a1b2c3`")
def abort_calls(
    call: Annotated[str, typer.Argument(help="The call's id, as in `rota agents calls`.")] = "",
    chat: Annotated[str, typer.Option(metavar="ID", help="All of this chat.")] = "",
    json: JsonFlag = False,
) -> None:
    """Abort a call of an agent, or all of a chat: the caller gets an error, and the model's call is cancelled."""
    if bool(call) == bool(chat):
        raise CliError("expected the id of a call, or --chat with that of a chat", hint="see `rota agents calls`")
    path = f"/calls/{quote(call, safe='')}" if call else "/calls"
    done = with_api(lambda api: api.of_team("DELETE", path, params=parameters(chat_id=chat)))
    if json:
        say_json(done)
        return
    ids = AbortedCalls.model_validate(done).aborted
    say(f"Aborted: {', '.join(ids)}." if ids else f"No call in chat {chat} is under way.")


async def _answer(api: Api, agent: str, body: Json, *, shown: bool) -> Json:
    """The whole answer, whose pieces are printed as they come."""
    printed = ""
    path = f"/agents/{quote(agent, safe='')}/call"
    async for name, data in api.server_sent("POST", path, json=body | {"stream": True}):
        match name:
            case "piece" if shown:
                _print(data["text"])
                printed += data["text"]
            case "cleared" if printed:
                _print("\n\n")
                printed = ""
            case "result":
                content = data["content"]
                if shown and content:
                    fits = content.startswith(printed)
                    _print(f"{content[len(printed) :] if fits else content}\n")
                return data
            case "error":
                raise CliError(data["message"])
    raise CliError("the answer ended before it was whole", hint="ask again")


def _print(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _object(text: str) -> Json:
    try:
        value = jsonlib.loads(text)
    except ValueError as error:
        raise CliError(f"expected JSON in --metadata: {error}", hint='like --metadata \'{"source": "job"}\'') from error
    if not isinstance(value, dict):
        raise CliError("expected a JSON object in --metadata", hint='like --metadata \'{"source": "job"}\'')
    return value


def _call_row(call: CallUnderWay) -> tuple[object, ...]:
    return call.id, call.agent_id, call.member_id or "-", call.chat_id or "-", utc_time(call.began_at)


def _row(agent: AgentCard) -> tuple[object, ...]:
    name = "(built in)" if agent.built_in else agent.name
    modes, tags = ", ".join(agent.modes) or "-", ", ".join(agent.tags) or "-"
    return agent.id, name, agent.connector or "(default)", modes, tags, excerpt(agent.description, EXCERPT) or "-"
