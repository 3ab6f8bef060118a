"""What was heard of executions that were stopped or paused: looked at before each attempt, without asking anybody."""

from delivery_center.domain.delivery import withhold
from rota_contracts.messages.control import ControlAction, ControlGivenV1
from rota_contracts.messages.delivery import DeliveryPermission, Permission

REMEMBERED = 10_000


class PausedExecutions:
    """The newest `limit` executions that may not be delivered now. It may miss a word: the executor has the truth."""

    def __init__(self, *, limit: int = REMEMBERED) -> None:
        self._limit = limit
        self._barred: dict[str, DeliveryPermission] = {}

    def hear(self, given: ControlGivenV1) -> None:
        """A stop is for good: neither a pause nor a resume that comes after it changes it."""
        for execution_id in given.execution_ids:
            match given.action:
                case ControlAction.STOP:
                    self._bar(execution_id, withhold(Permission.DENY, given.reason))
                case ControlAction.PAUSE if not self._is_stopped(execution_id):
                    self._bar(execution_id, withhold(Permission.HOLD, given.reason))
                case ControlAction.RESUME if not self._is_stopped(execution_id):
                    self._barred.pop(execution_id, None)

    def of(self, execution_id: str) -> DeliveryPermission | None:
        """`hold` or `stop`; None if nothing keeps it back, as far as it was heard."""
        return self._barred.get(execution_id)

    def forget(self, execution_id: str, said: DeliveryPermission) -> None:
        """`said` doesn't hold any more; what was heard since then stays."""
        if self._barred.get(execution_id) is said:
            del self._barred[execution_id]

    def _is_stopped(self, execution_id: str) -> bool:
        said = self._barred.get(execution_id)
        return said is not None and said.leave is Permission.DENY

    def _bar(self, execution_id: str, said: DeliveryPermission) -> None:
        self._barred.pop(execution_id, None)  # what is said again is the newest
        self._barred[execution_id] = said
        if len(self._barred) > self._limit:
            del self._barred[next(iter(self._barred))]
