"""A robot's models: each of their methods is a process that its tasks may call (EX-27)."""

import pytest

from rota_contracts.robots.resources import ProcessResource
from rota_contracts.robots.robot import Robot

MODELS = ["user", "sales.order", "odd name", "*"]


def robot(*processes: ProcessResource, models: list[str] | None = None) -> Robot:
    resources = {"processes": list(processes)}
    config = {"identity": {"role": "Sales Analyst"}, "db": models and {"models": models}, "resources": resources}
    return Robot.model_validate({"team_id": "acme", "member_id": "bot", "robot_config": config})


@pytest.mark.parametrize(
    ("name", "idempotent"),
    [
        ("models.user.Find", True),
        ("models.user.selectone", True),
        ("models.user.PAGINATE", True),
        ("models.sales.order.Count", True),
        ("models.sales.order.Save", False),
        ("models.user.FindOrCreate", False),
    ],
)
def test_the_methods_of_a_model_are_processes_and_those_that_read_may_be_repeated(name: str, idempotent: bool) -> None:
    found = robot(models=MODELS).process(name)
    assert found is not None
    assert (found.name, found.idempotent, found.timeout) == (name, idempotent, "1m")


@pytest.mark.parametrize(
    "name",
    [
        *("models.order.Find", "models.user", "models.user.", "models..Find", "models.User.Find", "user.Find"),
        *("models.user.profile.Find", "models.sales.Find", "xmodels.user.Find", "models.user.>", "models.user.a b"),
        *("models.odd name.Find", "models.*.Find", "models.user." + "x" * 200),
    ],
)
def test_nothing_else_is_a_process_of_a_model(name: str) -> None:
    assert robot(models=MODELS).process(name) is None


def test_a_process_of_the_resources_takes_precedence_over_its_model() -> None:
    made = robot(ProcessResource(name="models.user.Find", timeout="5s"), models=MODELS)
    found = made.process("models.user.Find")
    assert found is not None
    assert (found.idempotent, found.timeout) == (False, "5s")


def test_a_robot_lists_the_processes_it_may_call_with_its_models() -> None:
    made = robot(ProcessResource(name="audit.Log"), models=MODELS)
    assert made.callable_processes() == ["audit.Log", "models.user.*", "models.sales.order.*"]
    assert robot().callable_processes() == []
