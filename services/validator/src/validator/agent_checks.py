"""The calls of agents that check an output."""

from dataclasses import dataclass

from rota_common.json_text import parse_json
from rota_contracts.ids import derived_id
from rota_contracts.json_values import compact
from rota_contracts.messages.agent import CallAgent
from rota_contracts.messages.trigger import Message
from rota_contracts.messages.validation import Assertion, AssertionType, ValidationRequestedV1
from validator.kinds import Output, Unusable
from validator.prompts import question

AGENTS, OWN = "agents:", "validator"
"""`agents:validator` and `validator` name the robot's own validation agent."""


@dataclass(frozen=True, slots=True)
class AgentCheck:
    """One call of an agent: for an `agent` assertion, or without one for the sentences and the expected output."""

    call: CallAgent
    assertion: Assertion | None = None


@dataclass(frozen=True, slots=True)
class Uncheckable:
    """An `agent` assertion about a part that the output doesn't have."""

    assertion: Assertion
    reason: Unusable


def agent_checks(request: ValidationRequestedV1, output: Output, *, timeout: float) -> list[AgentCheck | Uncheckable]:
    """The checks of a request. The ids of their calls derive from the validation's, so each model answers once."""
    read = [(rule, agent_assertion(rule)) for rule in request.rules]
    sentences = [rule for rule, assertion in read if assertion is None]
    assertions = [assertion for _, assertion in read if assertion is not None]
    found = [_for(index, each, request, output, timeout=timeout) for index, each in enumerate(assertions)]
    if sentences or request.expected_output or not assertions:
        text = question(request, output.text, sentences, expected=request.expected_output)
        found.append(AgentCheck(_call(request, request.validation_id, request.agent, text, timeout=timeout)))
    return found


def agent_assertion(rule: str) -> Assertion | None:
    """The `agent` assertion in a rule that the first layer returned; None for a sentence."""
    try:
        assertion = Assertion.model_validate(parse_json(rule))
    except ValueError:
        return None
    return assertion if assertion.type == AssertionType.AGENT and assertion.use else None


def agent_of(use: str, own: str) -> str:
    """The agent that an assertion's `use` names; `own` is the robot's validation agent."""
    name = use.strip().removeprefix(AGENTS)
    return own if name == OWN else name


def _for(
    index: int, assertion: Assertion, request: ValidationRequestedV1, output: Output, *, timeout: float
) -> AgentCheck | Uncheckable:
    wanted = assertion.value if isinstance(assertion.value, str) else compact(assertion.value)
    rules, expected = ([], request.expected_output) if assertion.value is None else ([wanted], "")
    try:
        text = question(request, output.text_at(assertion.path), rules, expected=expected)
    except Unusable as reason:
        return Uncheckable(assertion, reason)
    call_id = derived_id("assertion", request.validation_id, index)
    return AgentCheck(
        _call(request, call_id, agent_of(assertion.use or OWN, request.agent), text, timeout=timeout), assertion
    )


def _call(request: ValidationRequestedV1, call_id: str, agent: str, text: str, *, timeout: float) -> CallAgent:
    return CallAgent(
        call_id=call_id,
        team_id=request.team_id,
        member_id=request.member_id,
        assistant_id=agent,
        messages=[Message(role="user", content=text)],
        execution_id=request.execution_id,
        timeout=timeout,
    )
