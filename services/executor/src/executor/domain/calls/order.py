"""The order of a call: everything that is checked before a tool or a process is called, in one place. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from executor.domain.calls.callee import Callee
from executor.domain.calls.duplicates import duplicate
from executor.domain.calls.policy import Policy
from executor.domain.conversation.loop import UNREADABLE
from executor.domain.planning.arguments import problem
from rota_contracts.messages.conversation import ToolUse
from rota_contracts.messages.execution import excerpt

MOST_ASKED = 100
"""Calls of one run that people are asked about."""

PROBLEM = 1_000
"""Characters of what is wrong with arguments."""


@dataclass(frozen=True)
class Begin:
    """It is made."""


@dataclass(frozen=True)
class AskHooks:
    """The hooks before it are asked first; what they change is checked once more."""


@dataclass(frozen=True)
class AskPerson:
    reason: str


@dataclass(frozen=True)
class Refuse:
    """It isn't made; the reason is its result."""

    reason: str


Verdict = Begin | AskHooks | AskPerson | Refuse


@dataclass(frozen=True)
class Proposed:
    """A call that is about to be made. `callee` None: there is none of that name; `known`: the names that there are.
    `hooks`: some are still to be asked. `cancelled`: why they cancelled it. `before`: the calls of its turn before it.
    `cleared`: it has passed all this, and was put back or approved since. `asked`: calls of its run that people were
    asked about."""

    use: ToolUse
    callee: Callee | None
    policy: Policy
    known: Sequence[str] = ()
    hooks: bool = False
    cancelled: str = ""
    before: Sequence[ToolUse] = ()
    cleared: bool = False
    asked: int = 0


def decide(call: Proposed) -> Verdict:
    """Parse, name, schema, policy, hooks, policy again, duplicate, approval, begin: the first that holds it up."""
    if call.cleared:
        return Begin()
    if wrong := _unfit(call):
        return Refuse(wrong)
    if call.hooks:
        return AskHooks()
    if call.cancelled:
        return Refuse(call.cancelled)
    assert call.callee is not None
    if not call.callee.repeatable and (answered := duplicate(call.use, call.before)):
        return Refuse(answered)
    if why := call.policy.question(call.callee):
        if call.asked >= MOST_ASKED:
            return Refuse(f"it needs a person's approval ({why}), and this run has asked for {MOST_ASKED} already")
        return AskPerson(why)
    return Begin()


def _unfit(call: Proposed) -> str:
    arguments = call.use.arguments
    if isinstance(arguments, dict) and UNREADABLE in arguments:
        return f"expected the arguments as a JSON object, got: {arguments[UNREADABLE]}"
    if call.callee is None:
        return f"there is no tool {call.use.name}: expected one of {', '.join(call.known) or 'none'}"
    if isinstance(arguments, dict) and (wrong := problem(arguments, call.callee.parameters)):
        return f"the arguments don't fit {call.callee.id}: {excerpt(wrong, PROBLEM)}"
    return call.policy.refusal(call.callee)
