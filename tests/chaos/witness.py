"""The witness: the calls and deliveries that external systems received, and the violations among them. It reads none
of Rota's own records.

An execution is known by its lead: a name that is unique to the webhook that started it and that comes along wherever
the execution goes.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Call:
    """One call as an external system received it.

    `step` names the step of the execution, in the external system's own words; `moment` is shared by the steps that may
    run side by side: the tools of one round.
    """

    lead: str
    step_id: str
    step: str
    moment: str
    idempotent: bool = True


@dataclass
class _History:
    """The steps of one execution, in the order in which they came."""

    moments: list[str] = field(default_factory=list)
    step_ids: dict[str, str] = field(default_factory=dict)


class Witness:
    """`repeated` and `doubled` hold a sentence for each thing that must not happen."""

    def __init__(self) -> None:
        self.repeated: list[str] = []
        self.doubled: list[str] = []
        self.retries: Counter[str] = Counter()
        self._histories: defaultdict[str, _History] = defaultdict(_History)
        self._deliveries: defaultdict[str, dict[str, list[str]]] = defaultdict(dict)

    def called(self, call: Call) -> None:
        """Record a call: the step's first try, or a repetition.

        A repetition is right as long as the step isn't finished: its worker died in it. It was finished if any external
        system has received a later step of the same execution.
        """
        history = self._histories[call.lead]
        again = call.step in history.step_ids
        known = history.step_ids.setdefault(call.step, call.step_id)
        if known != call.step_id:
            self._wrong(call, f"came under a second step id, {call.step_id} after {known}")
        elif call.moment not in history.moments:
            history.moments.append(call.moment)
        elif call.moment != history.moments[-1]:
            self._wrong(call, f"came after {history.moments[-1]} had begun")
        elif again and not call.idempotent:
            self._wrong(call, "isn't idempotent and was called twice")
        elif again:
            self.retries[call.step.split(":")[0]] += 1

    def delivered(self, lead: str, target: str, delivery_id: str) -> None:
        """Record a delivery. The same id again is a retry, which a receiver can recognise; another id is a double."""
        ids = self._deliveries[lead].setdefault(target, [])
        if delivery_id in ids:
            self.retries["delivery"] += 1
            return
        ids.append(delivery_id)
        if len(ids) > 1:
            self.doubled.append(f"{lead}: {target} was reached under {len(ids)} ids: {', '.join(ids)}")

    def reached(self, lead: str) -> set[str]:
        """The targets that received this execution's result."""
        return set(self._deliveries[lead])

    def _wrong(self, call: Call, what: str) -> None:
        self.repeated.append(f"{call.lead}: {call.step} ({call.step_id}) {what}")
