"""The first layer: do the rules hold for this output?"""

import asyncio
from collections.abc import Sequence

from rota_contracts.messages.validation import Assertion, CheckRules, RulesReply
from validator.domain import Outcome, outcome_of, sort_rules, unusable, verdict
from validator.kinds import Deferred, Finding, Output, Result, RunScript, Search, Unusable
from validator.ports import Outputs, Patterns, Scripts
from validator.registry import Kinds
from validator.replies import with_reply

AT_ONCE = 2
"""Questions whose patterns and scripts run at once, each in processes of its own; the others wait for their turn."""

SECONDS = 4.0
"""For the patterns and scripts of one question together: below the time its asker waits."""


class CheckOutput:
    """Tries every assertion; what only a model can judge is handed back as `open_rules`."""

    def __init__(
        self, outputs: Outputs, patterns: Patterns, scripts: Scripts, kinds: Kinds, *, seconds: float = SECONDS
    ) -> None:
        self._outputs, self._patterns, self._scripts, self._kinds = outputs, patterns, scripts, kinds
        self._seconds = seconds
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def __call__(self, question: CheckRules) -> RulesReply:
        rules = sort_rules(question.rules, self._kinds)
        output = Output(await self._outputs.read(question.output) if rules.assertions else "")
        found = [self._tried(assertion, output) for assertion in rules.assertions]
        if any(isinstance(each, Deferred) for each in found):
            found = await self._done(found)
        pairs = zip(rules.assertions, found, strict=True)
        outcomes = [self._outcome(assertion, output, each) for assertion, each in pairs]
        judgement = verdict(outcomes)
        if not any(outcome.faulty for outcome in outcomes):  # else no further turn could mend it
            judgement = with_reply(judgement, question.conversation)
        return RulesReply(verdict=judgement, open_rules=rules.open_rules)

    def _tried(self, assertion: Assertion, output: Output) -> Finding | Unusable:
        try:
            return self._kinds.check(assertion, output)
        except Unusable as reason:
            return reason
        except RecursionError:
            return Unusable("the output is nested too deeply")

    async def _done(self, found: Sequence[Finding | Unusable]) -> list[Finding | Unusable]:
        """With the errands run, one after the other."""
        async with self._turns:
            end = asyncio.get_running_loop().time() + self._seconds
            return [await self._run(each, end) if isinstance(each, Deferred) else each for each in found]

    async def _run(self, errand: Deferred, end: float) -> Result | bool | Unusable:
        try:
            async with asyncio.timeout_at(end):
                match errand:
                    case Search(pattern, text):
                        return await self._patterns.search(pattern, text)
                    case RunScript(name, given):
                        return await self._scripts.run(name, given)
        except TimeoutError:
            return Unusable(f"the rules before it and this one took more than {self._seconds:g} s together")
        except Unusable as reason:
            return reason

    def _outcome(self, assertion: Assertion, output: Output, found: Finding | Unusable) -> Outcome:
        if isinstance(found, Unusable):
            return unusable(assertion, found, self._kinds)
        try:
            said = found if isinstance(found, Result) else Result(bool(found))
            return outcome_of(assertion, output, said, self._kinds)
        except RecursionError:
            return unusable(assertion, Unusable("the output is nested too deeply"), self._kinds)
