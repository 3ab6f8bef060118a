"""One turn of an agent with tools: of a task's assistant, or of the inspiration agent. What differs between the two."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any

from executor.agents.facts import facts
from executor.agents.prompt_files import Agent
from executor.agents.prompts import for_phase, for_task
from executor.domain.calls.duplicates import END_AFTER, stalled_rounds
from executor.domain.context.contexts import of_step, turns_of
from executor.domain.conversation import loop
from executor.domain.conversation.chat import Tool
from executor.domain.conversation.messages import Texts
from executor.domain.planning import looks
from executor.domain.planning.own_question import may_ask
from executor.domain.run import Run
from executor.domain.steps import AskAgent, RunTurn, subject_of
from executor.domain.tasks import turn_time
from executor.steps.in_context import ASKS_A_PERSON
from rota_contracts.messages.conversation import Turn
from rota_contracts.messages.execution import Task
from rota_contracts.messages.trigger import Message


@dataclass(frozen=True)
class AgentTurn:
    run: Run
    step: AskAgent | RunTurn
    agent: Agent

    @cached_property
    def task(self) -> Task | None:
        of = subject_of(self.step)
        return of if isinstance(of, Task) else None

    @cached_property
    def frame(self) -> Sequence[str]:
        """The names of its prompt's frame."""
        return ("task", self.task.id) if self.task else (str(subject_of(self.step)),)

    @cached_property
    def cap(self) -> int:
        """Times that it may use tools."""
        return self.agent.max_iterations or (loop.CAP if self.task else looks.CAP)

    @property
    def budget(self) -> float:
        """Seconds; an inspiration has those of its run."""
        return turn_time.budget(self.agent.timeout, self.cap) if self.task else inf

    @property
    def seconds_left(self) -> float:
        return self.budget - self.run.turn_seconds

    @cached_property
    def stalled(self) -> int:
        return stalled_rounds(next(reversed(turns_of(self.run, of_step(self.step))), Turn(number=1)))

    @property
    def closing(self) -> bool:
        return self.step.iteration >= self.cap or self.stalled >= END_AFTER

    @property
    def may_ask(self) -> bool:
        """May it ask a person by a call?"""
        return self.task is not None and not self.closing and may_ask(self.run, self.task)

    @property
    def fields(self) -> Sequence[str] | None:
        """The fields of a form that its answer may copy; None: any."""
        return ASKS_A_PERSON if self.task else None

    def messages(self, texts: Texts, *, in_text: Sequence[Tool], skills: str, model: str) -> list[Message]:
        about: Any = {
            "closing": self.cap if self.step.iteration >= self.cap else None,
            "stalled": self.stalled,
            "in_text": in_text,
            "skills": skills,
            "model": model,
        }
        if isinstance(self.step, RunTurn):
            return for_task(self.run, self.step.task, self.agent, texts, **about)
        return for_phase(self.run, self.step.phase, self.agent, self.agent.id, texts, **about)

    def facts(self, tools: Sequence[Tool]) -> dict[str, Any]:
        if isinstance(self.step, AskAgent):
            return facts(self.run, self.step.phase)
        return facts(self.run, "run", task=self.step.task, tools=tools)
