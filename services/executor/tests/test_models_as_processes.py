"""A robot's models: a plan may call their methods as processes, and those of no other model (EX-27)."""

import json
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from services.executor.tests.fixtures import at, new_run

from executor.agents.prompt_files import Agents
from executor.agents.prompts import for_phase
from executor.domain.planning.parsing import UnusableAnswer
from executor.domain.planning.plan import mended_task, plan
from executor.domain.tasks.turns import single_call
from rota_common.testing.samples import a_robot
from rota_contracts.messages.execution import ExecutorType, Task
from rota_contracts.messages.trigger import TriggerType
from rota_contracts.robots.robot import Phase, Robot


def robot(*models: str, agents: Sequence[str] = ("writer",), **resources: Any) -> Robot:
    config = {"identity": {"role": "Analyst"}, "resources": {"agents": list(agents)} | resources}
    return a_robot(config=config | {"db": {"models": list(models)}})


def planned(has: Robot, executor_id: str, **fields: Any) -> tuple[Task, list[str]]:
    raw = {"description": "Read it", "executor_id": executor_id} | fields
    found = plan(json.dumps({"tasks": [raw]}), robot=has, trigger=TriggerType.CLOCK)
    assert not isinstance(found, str)
    (task,), notes = found
    return task, notes


def test_a_method_of_a_model_is_taken_as_it_is() -> None:  # EX-27
    task, notes = planned(robot("user"), "models.user.Find", executor_type="process", args=[7, {"select": ["name"]}])
    assert (task.executor_type, task.executor_id) == (ExecutorType.PROCESS, "models.user.Find")
    assert task.args == [7, {"select": ["name"]}]
    assert notes == []


@pytest.mark.parametrize("kind", [None, "assistant", "function"])
def test_its_type_is_mended(kind: str | None) -> None:
    task, _ = planned(robot("sales.order"), "models.sales.order.Save", executor_type=kind)
    assert (task.executor_type, task.executor_id) == (ExecutorType.PROCESS, "models.sales.order.Save")


def test_another_model_is_refused_with_what_the_robot_has(subtests: pytest.Subtests) -> None:  # EX-27
    for asked, kind in product(
        ["models.order.Find", "models.user.profile.Find", "models.user.*", "models.user"],
        [None, "assistant", "process"],
    ):
        with subtests.test(asked=asked, kind=kind):
            with pytest.raises(UnusableAnswer) as refusal:
                planned(robot("user", processes=[{"name": "crm.greet"}]), asked, executor_type=kind)
            said = str(refusal.value)
            assert f"{asked!r}, which this robot doesn't have" in said
            assert said.endswith("it has assistant writer, process crm.greet, process models.user.<Method>")


def test_without_a_model_no_method_is_guessed_at() -> None:
    has = robot(processes=[{"name": "models.user.FindAll"}], agents=["finder", "models"])
    with pytest.raises(UnusableAnswer, match=r"models\.user\.Find"):
        planned(has, "models.user.Find")
    task, _ = planned(has, "models.user.findall")
    assert task.executor_id == "models.user.FindAll"


def test_a_person_may_ask_for_one_too() -> None:
    task, _ = mended_task({"executor_id": "models.user.Get", "args": [1]}, robot=robot("user"), known=[])
    assert (task.executor_type, task.executor_id) == (ExecutorType.PROCESS, "models.user.Get")
    with pytest.raises(UnusableAnswer):
        mended_task({"executor_id": "models.order.Get"}, robot=robot("user"), known=[])


def test_tools_of_a_server_called_models_are_still_found() -> None:
    has = robot("user", mcp=[{"id": "models"}])
    task, _ = mended_task({"executor_id": "models.order.Find"}, robot=has, known=[])
    assert (task.executor_type, task.mcp_server, task.mcp_tool) == (ExecutorType.MCP, "models", "order.Find")
    task, _ = mended_task({"executor_id": "models.user.Find"}, robot=has, known=[])
    assert task.executor_type is ExecutorType.PROCESS


def test_only_a_method_that_reads_is_called_again_after_a_crash(subtests: pytest.Subtests) -> None:
    for method, again in [("Find", True), ("paginate", True), ("Save", False), ("Delete", False)]:
        with subtests.test(method=method, again=again):
            has = robot("user")
            task, _ = planned(has, f"models.user.{method}")
            use = single_call(task, has, "step")
            assert (use.name, use.idempotent) == (f"models.user.{method}", again)


def test_the_planner_sees_the_models() -> None:
    has = robot("user", processes=[{"name": "crm.greet"}])
    agent = Agents().of("acme").assistant("rota.tasks")
    shown = for_phase(at(Phase.TASKS, run=new_run(robot=has)), Phase.TASKS, agent, "rota.tasks", {})[0].text()
    assert "- crm.greet\n" in shown
    assert "- models.user.*: any method of this model, such as models.user.Find or models.user.Get" in shown
