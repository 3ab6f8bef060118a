"""`rota intervene` and `rota answer`: instructions of a person to a robot."""

import json as jsonlib
from typing import Annotated

import typer

from rota.client import Api, Json
from rota.errors import CliError
from rota.output import JsonFlag, say, say_json
from rota.running import with_api
from rota.short_ids import EXECUTION, whole_id
from rota.timestamps import utc_text
from rota_contracts.messages.control import TaskChange
from rota_contracts.messages.trigger import InterventionAction

FIELDS = tuple(name for name in TaskChange.model_fields if name != "id")
LISTS = ("args", "validation_rules")


def register(app: typer.Typer) -> None:
    app.command("intervene", epilog='Example: `rota intervene sales-assistant -m "Ask for Friday"`')(intervene)
    app.command("answer", epilog='Example: `rota answer 0c6f… "Take the second offer"`')(answer)


def intervene(
    member: Annotated[str, typer.Argument(help="The robot's member_id.")],
    action: Annotated[InterventionAction, typer.Option(help="The kind.")] = InterventionAction.INSTRUCT,
    message: Annotated[str, typer.Option("--message", "-m", help="The instruction to the robot.")] = "",
    execution: Annotated[str, typer.Option(help="The run, if several are running.")] = "",
    task_id: Annotated[str, typer.Option(help="task.update, task.cancel: the task in the run's plan.")] = "",
    goal: Annotated[str, typer.Option(help='goal.…: the goal, as the plan names it: "Goal 2".')] = "",
    plan_time: Annotated[str, typer.Option(help="plan.add, plan.update: when, like 2026-03-02T09:00:00+01:00.")] = "",
    plan_id: Annotated[str, typer.Option(help="plan.update, plan.remove: the id, as in `rota plan`.")] = "",
    set_: Annotated[
        list[str] | None, typer.Option("--set", help=f"task.…: FIELD=VALUE, repeatable. {', '.join(FIELDS)}")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Instruct a robot: in its current run, in its plan, or as a new run."""
    if action is InterventionAction.INSTRUCT and not message:
        raise typer.BadParameter("expected --message with the instruction, or another --action")
    task = ({"id": task_id} if task_id else {}) | dict(_setting(each) for each in set_ or [])
    execution = whole_id(EXECUTION, execution)
    fields = {"execution_id": execution, "goal": goal, "plan_time": plan_time, "plan_id": plan_id, "task": task}
    request: Json = {name: value for name, value in fields.items() if value} | instruction(action, message)
    print_result(with_api(lambda api: api.intervene(member, request)), json=json)


def answer(
    execution: Annotated[str, typer.Argument(help="The waiting run, as in `rota executions --status waiting`.")],
    text: Annotated[str, typer.Argument(help="The answer to its question.")],
    json: JsonFlag = False,
) -> None:
    """Answer the question of a waiting run."""

    execution = whole_id(EXECUTION, execution)

    async def reply(api: Api) -> Json:
        run = await api.execution(execution)
        if run.get("question") is None:
            command = f"rota intervene {run['member_id']} --action instruct --execution {execution}"
            raise CliError(
                f"expected a run that waits for an answer: {execution} is {run['status']} and has no question",
                hint=f"`{command}` instructs it while it is running",
            )
        request = {"execution_id": execution} | instruction(InterventionAction.INSTRUCT, text)
        return await api.intervene(run["member_id"], request)

    print_result(with_api(reply), json=json)


def instruction(action: InterventionAction, message: str) -> Json:
    """The action and the person's message, as the API expects them."""
    messages: Json = {"messages": [{"role": "user", "content": message}]} if message else {}
    return {"action": action.value} | messages


def _setting(text: str) -> tuple[str, object]:
    """A field of a task and its value; lists are JSON."""
    name, sign, value = text.partition("=")
    if not sign or name not in FIELDS:
        raise typer.BadParameter(f"expected --set FIELD=VALUE with one of {', '.join(FIELDS)}, not {text!r}")
    if name not in LISTS:
        return name, value
    try:
        return name, jsonlib.loads(value)
    except ValueError as error:
        raise typer.BadParameter(f"expected JSON in --set {name}=…, like '[1, \"two\"]': {error}") from error


def print_result(result: Json, *, json: bool) -> None:
    """Print the result of an intervention."""
    if json:
        say_json(result)
    elif "plan_id" in result:
        due = f", due {utc_text(result['plan_time'])}" if result.get("plan_time") else ""
        say(f"plan {result['plan_id']}: {result['message']}{due}")
    else:
        say(f"execution {result['execution_id']}: {result['message']}")
