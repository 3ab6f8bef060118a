"""The first layer: do the rules hold for this output?"""

from rota_contracts.validation import Assertion, CheckRules, RulesChecked
from validator.assertions import Output, Search, Unusable, check
from validator.domain import Outcome, judged, sort_rules, unusable, verdict
from validator.ports import Outputs, Patterns


class CheckOutput:
    """Tries every assertion; what only a model can judge is handed back as `open_rules`."""

    def __init__(self, outputs: Outputs, patterns: Patterns) -> None:
        self._outputs, self._patterns = outputs, patterns

    async def __call__(self, question: CheckRules) -> RulesChecked:
        assertions, open_rules = sort_rules(question.rules)
        output = Output(await self._outputs.read(question.output) if assertions else "")
        outcomes = [await self._outcome(assertion, output) for assertion in assertions]
        return RulesChecked(verdict=verdict(outcomes), open_rules=open_rules)

    async def _outcome(self, assertion: Assertion, output: Output) -> Outcome:
        try:
            granted = check(assertion, output)
            if isinstance(granted, Search):
                granted = await self._patterns.search(granted.pattern, granted.text)
            return judged(assertion, output, granted=granted)
        except Unusable as reason:
            return unusable(assertion, reason)
        except RecursionError:
            return unusable(assertion, Unusable("the output is nested too deeply"))
