"""`rota demo`: the whole system at work, in less than a minute."""

import typer

from rota.extras import server_extra
from rota.output import JsonFlag


def register(app: typer.Typer) -> None:
    app.command("demo", epilog="Example: `rota demo`, or with a real model `OPENAI_API_KEY=… rota demo`")(demo)


def demo(json: JsonFlag = False) -> None:
    """Start everything, post two leads, show who receives the results. Ends by itself; exit code 0 on success."""
    with server_extra("rota demo"):
        from rota.demo.run import run_demo
    raise typer.Exit(0 if run_demo(json=json) else 1)
