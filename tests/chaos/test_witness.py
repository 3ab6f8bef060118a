"""The witness: the violations it counts, and the repetitions that are right."""

import pytest

from tests.chaos.witness import Call, Witness

LEAD = "lead-00001"


@pytest.fixture
def witness() -> Witness:
    return Witness()


def a_step(step: str, *, step_id: str = "", moment: str = "", idempotent: bool = True, lead: str = LEAD) -> Call:
    return Call(lead, step_id or f"id of {step}", step, moment=moment or step, idempotent=idempotent)


def test_steps_that_come_once_are_right(witness: Witness) -> None:
    for step in ("model goals", "model tasks", "model run:task-1:0"):
        witness.called(a_step(step))
    assert witness.repeated == []


def test_a_step_that_comes_again_before_the_next_one_was_cut_short_and_is_right(witness: Witness) -> None:
    witness.called(a_step("model goals"))
    witness.called(a_step("model goals"))
    assert witness.repeated == []
    assert witness.retries == {"model goals": 1}


def test_a_step_that_comes_again_after_the_next_one_was_finished_and_ran_again(witness: Witness) -> None:
    for step in ("model goals", "model tasks", "model goals"):
        witness.called(a_step(step))
    assert witness.repeated == ["lead-00001: model goals (id of model goals) came after model tasks had begun"]


def test_a_step_that_comes_again_under_another_id_ran_again(witness: Witness) -> None:
    witness.called(a_step("model goals", step_id="one"))
    witness.called(a_step("model goals", step_id="two"))
    assert witness.repeated == ["lead-00001: model goals (two) came under a second step id, two after one"]


def test_a_step_of_another_execution_finishes_nothing(witness: Witness) -> None:
    witness.called(a_step("model goals"))
    witness.called(a_step("model tasks", lead="lead-00002"))
    witness.called(a_step("model goals"))
    assert witness.repeated == []


def test_what_is_not_idempotent_may_come_once(witness: Witness) -> None:
    witness.called(a_step("process:task-4", idempotent=False))
    witness.called(a_step("process:task-4", idempotent=False))
    assert witness.repeated == [
        "lead-00001: process:task-4 (id of process:task-4) isn't idempotent and was called twice"
    ]


def test_tools_of_one_round_may_come_again_in_any_order(witness: Witness) -> None:
    for step in ("tools:1:note", "tools:1:look", "tools:1:note"):
        witness.called(a_step(step, moment="tools:1"))
    assert witness.repeated == []


def test_a_tool_that_comes_after_the_next_round_ran_again(witness: Witness) -> None:
    witness.called(a_step("tools:1:note", moment="tools:1"))
    witness.called(a_step("model run:task-1:1"))
    witness.called(a_step("tools:1:note", moment="tools:1"))
    assert witness.repeated == ["lead-00001: tools:1:note (id of tools:1:note) came after model run:task-1:1 had begun"]


def test_a_delivery_that_comes_again_under_its_id_is_a_retry(witness: Witness) -> None:
    witness.delivered(LEAD, "mail", "one")
    witness.delivered(LEAD, "mail", "one")
    assert witness.doubled == []
    assert witness.retries == {"delivery": 1}


def test_a_delivery_that_comes_under_two_ids_is_doubled(witness: Witness) -> None:
    witness.delivered(LEAD, "mail", "one")
    witness.delivered(LEAD, "mail", "two")
    assert witness.doubled == ["lead-00001: mail was reached under 2 ids: one, two"]


def test_targets_have_ids_of_their_own(witness: Witness) -> None:
    witness.delivered(LEAD, "mail", "one")
    witness.delivered(LEAD, "webhook first", "two")
    assert witness.doubled == []
    assert witness.reached(LEAD) == {"mail", "webhook first"}
