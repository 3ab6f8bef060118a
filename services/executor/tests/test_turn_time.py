"""The budget of time of an assistant's turn: its working time, and what becomes of a turn that has used it up."""

from datetime import timedelta
from string import Template
from typing import Any

from services.executor.tests.fixtures import EQUIPPED, a_signal, a_task, new_run, with_tasks
from services.executor.tests.harness import ScriptedModel, StepHarness, calls
from services.executor.tests.test_replay import again

from executor.agents.operator_files import ALL_TEAMS
from executor.agents.prompt_files import Agent, parse
from executor.domain import lifecycle
from executor.domain.conversation.chat import ModelReply
from executor.domain.outcomes import NeedsInput, StepDelayed
from executor.domain.signals import control
from executor.domain.tasks import turn_time
from executor.model_port import Prompt
from rota_contracts.messages.agent import DEFAULT_TIMEOUT_S
from rota_contracts.messages.conversation import ToolUse
from rota_contracts.messages.execution import ExecStatus, TaskStatus

WRITER = Agent("experts.writer", Template("You write."), max_iterations=20, timeout=300)


def looks(number: int) -> ModelReply:
    """Each time for something else."""
    return calls(*(("crm__lookup", {"name": f"{name}{number}"}) for name in "AB"), text="I'll look.")


PLAN = '{"tasks": [{"id": "a", "description": "Look", "executor_id": "experts.writer"}]}'


class Slow:
    """Answers of a model take 200 s, and each of the two calls in one ends `seconds` after the one before."""

    def __init__(self, *replies: Any, seconds: int = 100) -> None:
        self._replies, self._seconds = list(replies), seconds
        self.shop = StepHarness(ScriptedModel(answer=self._answer), agent=WRITER)
        self.shop.tools._answer = self._found

    async def _answer(self, prompt: Prompt) -> Any:
        self.shop.clock.forward(200)
        return self._replies.pop(0) if self._replies else looks(len(self.shop.model.prompts))

    async def _found(self, use: ToolUse) -> str:
        self.shop.clock.forward(self._seconds)
        return "found"

    @property
    def timeouts(self) -> list[float]:
        return [prompt.timeout for prompt in self.shop.model.prompts]


def test_a_turn_has_the_time_of_four_answers_or_of_its_iterations_if_they_are_fewer() -> None:  # EX-59
    cases = {(300.0, 20): 1200.0, (300.0, 4): 1200.0, (300.0, 3): 900.0, (300.0, 1): 300.0, (0.5, 100): 2.0}
    assert {given: turn_time.budget(*given) for given in cases} == cases
    given, usual = (parse("x", text, teams=ALL_TEAMS).timeout for text in ("---\ntimeout: 300\n---\n", ""))
    assert (given, usual) == (300, DEFAULT_TIMEOUT_S)


async def test_a_turn_that_has_used_up_its_time_ends_and_says_so() -> None:  # EX-59
    slow = Slow("## Goals\n1. Look", PLAN)
    run = await slow.shop.over(new_run(robot=EQUIPPED))
    (result,) = run.execution.results
    said = result.turns[0].output
    assert said is not None
    assert said.inline == "I'll look.\n\n[Task timed out after 1200s]"
    assert (result.status, result.error) == (TaskStatus.FAILED, "Task timed out after 1200s")
    assert slow.timeouts[2:] == [300, 300, 300]  # a round takes 400 s
    assert (run.execution.status, run.execution.content) == (ExecStatus.FAILED, None)
    assert run.execution.error == "task a (Look): Task timed out after 1200s"
    assert again(run).same


async def test_an_answer_gets_no_more_time_than_its_turn_has_left() -> None:  # EX-59
    slow = Slow(*[looks(number) for number in range(5)], "done", seconds=0)
    run = await slow.shop.task_done(with_tasks(a_task(1)))
    assert slow.timeouts == [300, 300, 300, 300, 300, 200]
    assert run.execution.results[0].status == TaskStatus.COMPLETED


async def test_the_working_time_of_a_turn_alone_counts() -> None:  # EX-59
    slow = Slow()
    run = await slow.shop.until(with_tasks(a_task(1)), lambda run: run.turn_seconds == 400)
    now = slow.shop.clock()
    before, later = now - timedelta(seconds=100), now + timedelta(days=1)
    delayed = lifecycle.apply(run, StepDelayed("busy", 900), now=now, began=before)
    paused = control.park(control.apply_signal(run, a_signal("pause"), now=now), now=now)
    granted = control.grant(control.apply_signal(paused, a_signal("resume"), now=later), 1, now=later)
    asking = lifecycle.apply(run, NeedsInput("Which of the two?"), now=now, began=before)
    assert delayed.turn_seconds == 500  # its delay takes none
    assert (granted.execution.status, granted.turn_seconds) == (ExecStatus.RUNNING, 400)
    assert asking.turn_seconds == 0  # the answer opens another turn
