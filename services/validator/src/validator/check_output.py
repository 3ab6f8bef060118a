"""The first layer: an output against its rules, without a model."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from rota_contracts.messages.validation import Assertion, CheckRules, RulesReply
from validator.domain import Outcome, outcome_of, sort_rules, unusable, verdict
from validator.fair_slots import AT_ONCE, PER_TEAM, FairSlots
from validator.kinds import Deferred, Finding, Output, Result, RunScript, Search, Unusable
from validator.ports import Outputs, Patterns, Scripts
from validator.registry import Kinds
from validator.replies import with_reply

SECONDS = 4.0
"""For the patterns and scripts of one request together: below the time that its caller waits."""

TOO_DEEP = "the output is nested too deeply"


@dataclass(frozen=True, kw_only=True)
class CheckOutput:
    """Tries every assertion; what only a model can judge is returned as `open_rules`."""

    outputs: Outputs
    patterns: Patterns
    scripts: Scripts
    kinds: Kinds
    seconds: float = SECONDS
    slots: FairSlots = field(default_factory=lambda: FairSlots(AT_ONCE, per_team=PER_TEAM))

    async def __call__(self, request: CheckRules) -> RulesReply:
        rules = sort_rules(request.rules, self.kinds)
        output = Output(await self.outputs.read(request.output) if rules.assertions else "")
        findings = [self._try(assertion, output) for assertion in rules.assertions]
        if any(isinstance(finding, Deferred) for finding in findings):
            findings = await self._resolve(findings, request.team_id or "")
        pairs = zip(rules.assertions, findings, strict=True)
        outcomes = [self._outcome(assertion, output, finding) for assertion, finding in pairs]
        found = verdict(outcomes)
        if not any(outcome.faulty for outcome in outcomes):  # else no further turn could mend it
            found = with_reply(found, request.conversation)
        return RulesReply(verdict=found, open_rules=rules.open_rules)

    def _try(self, assertion: Assertion, output: Output) -> Finding | Unusable:
        try:
            return self.kinds.check(assertion, output)
        except Unusable as reason:
            return reason
        except RecursionError:
            return Unusable(TOO_DEEP)

    async def _resolve(self, findings: Sequence[Finding | Unusable], team: str) -> list[Finding | Unusable]:
        """The findings with the deferred ones run, one after the other."""
        async with self.slots.slot(team):
            end = asyncio.get_running_loop().time() + self.seconds
            return [await self._run(each, end) if isinstance(each, Deferred) else each for each in findings]

    async def _run(self, deferred: Deferred, end: float) -> Result | bool | Unusable:
        try:
            async with asyncio.timeout_at(end):
                match deferred:
                    case Search(pattern, text):
                        return await self.patterns.search(pattern, text)
                    case RunScript(name, given):
                        return await self.scripts.run(name, given)
        except TimeoutError:
            return Unusable(f"the rules before it and this one took more than {self.seconds:g} s together")
        except Unusable as reason:
            return reason

    def _outcome(self, assertion: Assertion, output: Output, finding: Finding | Unusable) -> Outcome:
        if isinstance(finding, Unusable):
            return unusable(assertion, finding, self.kinds)
        try:
            result = finding if isinstance(finding, Result) else Result(bool(finding))
            return outcome_of(assertion, output, result, self.kinds)
        except RecursionError:
            return unusable(assertion, Unusable(TOO_DEEP), self.kinds)
