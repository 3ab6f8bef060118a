"""`rota intervene` and `rota answer`: a person's word to a robot, in what runs or in its plan."""

import json as jsonlib
from typing import Annotated

import typer

from rota.client import Api, Json
from rota.errors import CliError
from rota.output import JsonFlag, say, say_json
from rota.running import with_api
from rota_contracts.messages.control import TaskChange
from rota_contracts.messages.trigger import InterventionAction

FIELDS = tuple(name for name in TaskChange.model_fields if name != "id")
LISTS = ("args", "validation_rules")


def register(app: typer.Typer) -> None:
    app.command("intervene", epilog='Example: `rota intervene sales-assistant --action goal.add -m "Ask for Friday"`')(
        intervene
    )
    app.command("answer", epilog='Example: `rota answer 0c6f… "Take the second offer"`')(answer)


def intervene(
    member: Annotated[str, typer.Argument(help="The robot's member_id.")],
    action: Annotated[InterventionAction, typer.Option(help="What is to be done.")],
    message: Annotated[str, typer.Option("--message", "-m", help="What a person says to the robot.")] = "",
    execution: Annotated[str, typer.Option(help="Which run, when several are under way.")] = "",
    task_id: Annotated[str, typer.Option(help="task.update, task.cancel: which task of the run's plan.")] = "",
    goal: Annotated[str, typer.Option(help='goal.…: which, as the plan names it: "Goal 2".')] = "",
    plan_time: Annotated[str, typer.Option(help="plan.add, plan.update: when, like 2026-03-02T09:00:00+01:00.")] = "",
    plan_id: Annotated[str, typer.Option(help="plan.update, plan.remove: which, as in `rota plan`.")] = "",
    set_: Annotated[
        list[str] | None, typer.Option("--set", help=f"task.…: FIELD=VALUE, several times. {', '.join(FIELDS)}")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Tell a robot what to do: in the run that is under way, in its plan, or as a run of its own."""
    task = ({"id": task_id} if task_id else {}) | dict(_setting(each) for each in set_ or [])
    fields = {"execution_id": execution, "goal": goal, "plan_time": plan_time, "plan_id": plan_id, "task": task}
    request: Json = {name: value for name, value in fields.items() if value} | words(action, message)
    tell(with_api(lambda api: api.intervene(member, request)), json=json)


def answer(
    execution: Annotated[str, typer.Argument(help="The run that waits, as in `rota executions --status waiting`.")],
    text: Annotated[str, typer.Argument(help="The answer to what it asks.")],
    json: JsonFlag = False,
) -> None:
    """Answer a run that waits for a person."""

    async def reply(api: Api) -> Json:
        run = await api.execution(execution)
        if run.get("question") is None:
            command = f"rota intervene {run['member_id']} --action instruct --execution {execution}"
            raise CliError(
                f"expected a run that waits for an answer: {execution} is {run['status']} and asks nothing",
                hint=f"`{command}` says it all the same, while it is under way",
            )
        request = {"execution_id": execution} | words(InterventionAction.INSTRUCT, text)
        return await api.intervene(run["member_id"], request)

    tell(with_api(reply), json=json)


def words(action: InterventionAction, message: str) -> Json:
    """The beginning of a request: what is to be done, and what the person says."""
    said: Json = {"messages": [{"role": "user", "content": message}]} if message else {}
    return {"action": action.value} | said


def _setting(text: str) -> tuple[str, object]:
    """A field of a task and its value; lists are written as JSON."""
    name, sign, value = text.partition("=")
    if not sign or name not in FIELDS:
        raise typer.BadParameter(f"expected --set FIELD=VALUE with one of {', '.join(FIELDS)}, not {text!r}")
    if name not in LISTS:
        return name, value
    try:
        return name, jsonlib.loads(value)
    except ValueError as error:
        raise typer.BadParameter(f"expected JSON in --set {name}=…, like '[1, \"two\"]': {error}") from error


def tell(done: Json, *, json: bool) -> None:
    """Print what came of an intervention."""
    if json:
        say_json(done)
    elif "plan_id" in done:
        due = f", due {done['plan_time']}" if done.get("plan_time") else ""
        say(f"plan {done['plan_id']}: {done['message']}{due}")
    else:
        say(f"execution {done['execution_id']}: {done['message']}")
