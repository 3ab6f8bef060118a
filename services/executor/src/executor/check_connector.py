"""The test of a connector: short calls of its model, which show what of it works."""

import asyncio
from dataclasses import dataclass
from time import monotonic
from typing import Any
from uuid import uuid4

from executor.agents.connectors import REHEARSAL, Connector
from executor.domain.connector_checks import CHECKS, Check, prevented, report
from executor.domain.conversation.chat import ModelReply
from executor.domain.spending import Payer
from executor.model_port import Model, Prompt
from executor.spending.budget_port import AtCeiling
from executor.spending.most_tokens import LIMITS, thinking_tokens
from executor.steps.models import Models
from rota_common.errors import Permanent, Transient
from rota_contracts.messages.provider import (
    CHECK_TIMEOUT_S,
    CheckOutcome,
    CheckResult,
    ConnectorCheck,
    TryConnector,
    TryConnectorReply,
)
from rota_contracts.messages.trigger import ExecutorMode
from rota_contracts.model import ALL

ANSWER_TOKENS, UNSTATED_THINKING = 256, 2048
"""Tokens of an answer, and of the thinking of a model that thinks, but whose connector doesn't limit it."""


@dataclass(frozen=True, kw_only=True)
class CheckConnector:
    """Its calls are made one after the other, and metered as all calls are; the team pays for them."""

    models: Models
    timeout: float = CHECK_TIMEOUT_S

    async def __call__(self, request: TryConnector) -> TryConnectorReply:
        """A connector that can't be used is one whose call fails; `problem` is for one that isn't this team's."""
        team, name = request.team_id, request.connector
        view = await self.models.views.of(team)
        try:
            connector = self.models.choose(ExecutorMode.STANDARD, name, view=view)
        except Permanent as error:
            if view.connectors.find(name) is None:
                return TryConnectorReply(problem=str(error))
            return report(_unusable(str(error)))
        if connector.type == REHEARSAL:
            without = f"connector {name} answers without a model: there is nothing to test"
            answered = CheckResult(name=ConnectorCheck.CALL, outcome=CheckOutcome.NO_MODEL, problem=without)
            return report([answered])
        model = self.models.metered(Payer(team, ALL, ""))
        made, replies, test_id = list[CheckResult](), list[ModelReply](), f"connector-test-{uuid4().hex}"
        for check in CHECKS:
            made.append(await self._result(check, prevented(made), _Asked(model, connector, test_id, replies)))
        return report(made, [reply.call for reply in replies])

    async def _result(self, check: Check, prevented_by: str, asked: "_Asked") -> CheckResult:
        if lacking := _lacking(check, asked.connector):
            return CheckResult(name=check.name, outcome=CheckOutcome.NOT_STATED, problem=lacking)
        if prevented_by:
            return CheckResult(name=check.name, outcome=CheckOutcome.NOT_TRIED, problem=prevented_by)
        began = monotonic()
        try:
            async with asyncio.timeout(self.timeout):
                problem = await asked.problem(check, self.timeout)
        except AtCeiling as error:
            return CheckResult(name=check.name, outcome=CheckOutcome.NOT_TRIED, problem=error.no_room)
        except (Transient, Permanent) as error:
            problem = str(error)
        except TimeoutError:
            problem = f"no answer within {self.timeout:g} s"
        outcome = CheckOutcome.FAILS if problem else CheckOutcome.WORKS
        seconds = round(monotonic() - began, 3)
        return CheckResult(name=check.name, outcome=outcome, problem=asked.connector.hide(problem), seconds=seconds)


@dataclass(frozen=True)
class _Asked:
    """The model under test. `replies` gets what it answers."""

    model: Model
    connector: Connector
    test_id: str
    replies: list[ModelReply]

    async def problem(self, check: Check, timeout: float) -> str:
        """Why the model's answer isn't what it should be; empty if it is."""
        pieces = list[str]()

        async def on_text(text: str) -> None:
            pieces.append(text)

        streams = check.name is ConnectorCheck.STREAMING
        prompt = Prompt(
            check.messages(),
            self.connector,
            timeout,
            f"{self.test_id}-{check.name}",
            _options(self.connector),
            tools=check.tools,
            schema=check.schema,
            on_text=on_text if streams else None,
        )
        reply = await self.model.complete(prompt)
        self.replies.append(reply)
        return check.lacks(reply) or ("expected the text bit by bit, got it whole" if streams and not pieces else "")


def _unusable(problem: str) -> list[CheckResult]:
    """The results of a connector whose model can't be called."""
    made = [CheckResult(name=ConnectorCheck.CALL, outcome=CheckOutcome.FAILS, problem=problem)]
    others = [check.name for check in CHECKS if check.name is not ConnectorCheck.CALL]
    return made + [CheckResult(name=each, outcome=CheckOutcome.NOT_TRIED, problem=prevented(made)) for each in others]


def _lacking(check: Check, connector: Connector) -> str:
    """Why this connector isn't asked for this; empty if it is."""
    if check.capability is None:
        return ""
    if not connector.can(check.capability):
        return f"its capabilities say {check.capability}: false"
    if check.name is ConnectorCheck.STREAMING and not connector.streams:
        return "a server at an address of its own isn't streamed unless its capabilities say inline_thinking: false"
    return ""


def _options(connector: Connector) -> dict[str, Any]:
    """The limit of an answer, under the name that the connector's own has."""
    name = next((each for each in LIMITS if each in connector.parameters), LIMITS[0])
    thinks = connector.capabilities.get("reasoning") is True
    thinking = thinking_tokens(connector.parameters) or (UNSTATED_THINKING if thinks else 0)
    return {name: ANSWER_TOKENS + thinking}
