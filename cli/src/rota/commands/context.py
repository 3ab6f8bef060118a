"""`rota context`: the Rotas that the commands on this machine know, and the one that they act on."""

from typing import Annotated

import typer

from rota import context as contexts
from rota import context_files
from rota.output import JsonFlag, say, say_json, table

app = typer.Typer(help="List the contexts, choose the current one, or forget one.", invoke_without_command=True)

Name = Annotated[str, typer.Argument(help="As in `rota context`.")]


@app.callback(epilog="Example: `rota context`; another one for a single command: `rota --context NAME robots`")
def listed(context: typer.Context, json: JsonFlag = False) -> None:
    """List the contexts, each an address with its team and keys; a star marks the one that commands use."""
    if context.invoked_subcommand is not None:
        return
    names = context_files.names()
    selected = contexts.selected() if names else ""
    found = [(name, contexts.saved(name)) for name in names]
    if json:
        say_json([{"name": name, "url": one.url, "team": one.team, "current": name == selected} for name, one in found])
    elif not found:
        say("There are no contexts: `rota up` makes one, and so does `rota teams create NAME --use`")
    else:
        rows = [("*" if name == selected else "", name, one.url, one.team) for name, one in found]
        table(("", "CONTEXT", "URL", "TEAM"), rows)


@app.command(epilog="Example: `rota context use demo`")
def use(name: Name, json: JsonFlag = False) -> None:
    """Make a context the current one: commands act on its Rota from now on."""
    context_files.use(name)
    _print(name, "current", f"{name}: the current context, {contexts.saved(name).url}", json=json)


@app.command(epilog="Example: `rota context forget demo`")
def forget(name: Name, json: JsonFlag = False) -> None:
    """Remove a context with its keys from this machine. Its Rota and its data stay as they are."""
    context_files.forget(context_files.expected(name))
    _print(name, "forgotten", f"{name}: forgotten", json=json)


def _print(name: str, outcome: str, text: str, *, json: bool) -> None:
    say_json({"name": name, "outcome": outcome}) if json else say(text)
