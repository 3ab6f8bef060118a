"""The calls of agents that check an output."""

from dataclasses import dataclass
from string import Template

from rota_common.json_text import parse_json
from rota_contracts.ids import derived_id
from rota_contracts.json_values import compact
from rota_contracts.messages.agent import AgentReply, CallAgent
from rota_contracts.messages.trigger import Message
from rota_contracts.messages.validation import Assertion, AssertionType, ValidationRequestedV1
from validator.kinds import Output, Unusable
from validator.prompts import answer_form, answer_schema, question

AGENTS, OWN = "agents:", "validator"
"""`agents:validator` and `validator` name the robot's own validation agent."""

AGAIN = "Your last answer is no verdict: $reason\nAnswer again, with the JSON object alone."
LONGEST_ANSWER = 4_000
"""Characters of an answer that its author is shown again."""


@dataclass(frozen=True, slots=True)
class AgentCheck:
    """One call of an agent: for an `agent` assertion, or without one for the sentences and the expected output.

    Its verdict repeats the `check`, so that one which the output holds is none."""

    call: CallAgent
    assertion: Assertion | None = None

    @property
    def check(self) -> str:
        return str(self.call.metadata["check"])


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


def asked_again(call: CallAgent, answer: AgentReply, reason: str, *, asks: int) -> CallAgent:
    """The same question, after `asks` answers, with the last of them and the reason why it is no verdict."""
    said = Message(role="assistant", content=answer.content[:LONGEST_ANSWER] or "(nothing)")
    again = Message(role="user", content=Template(AGAIN).substitute(reason=reason))
    messages = [call.messages[0], said, again]
    call_id = derived_id("asked again", call.call_id, asks)
    return call.model_copy(update={"call_id": call_id, "messages": messages})


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
    check = derived_id("check", call_id)[:8]
    return CallAgent(
        call_id=call_id,
        team_id=request.team_id,
        member_id=request.member_id,
        assistant_id=agent,
        messages=[Message(role="user", content=f"{text}\n\n{answer_form(request, check)}")],
        execution_id=request.execution_id,
        timeout=timeout,
        metadata={"check": check},
        form=answer_schema(request, check),
    )
