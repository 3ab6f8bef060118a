"""The executions that were stopped or paused, from the executors' signals: checked before each attempt."""

from dataclasses import dataclass, field

from delivery_center.domain.delivery import withhold
from rota_contracts.envelope import Event
from rota_contracts.messages.control import ControlAction, ControlGivenV1
from rota_contracts.messages.delivery import DeliveryPermission, Permission

REMEMBERED = 10_000


@dataclass(kw_only=True)
class PausedExecutions:
    """The newest `limit` executions that may not be delivered now. A signal may be missed: the executor decides."""

    limit: int = REMEMBERED
    _withheld: dict[str, DeliveryPermission] = field(init=False, default_factory=dict)

    def apply(self, event: Event[ControlGivenV1]) -> None:
        """A stop is final: no pause or resume after it has an effect."""
        signal = event.data
        for execution_id in signal.execution_ids:
            match signal.action:
                case ControlAction.STOP:
                    self._withhold(execution_id, withhold(Permission.DENY, signal.reason))
                case ControlAction.PAUSE if not self._is_stopped(execution_id):
                    self._withhold(execution_id, withhold(Permission.HOLD, signal.reason))
                case ControlAction.RESUME if not self._is_stopped(execution_id):
                    self._withheld.pop(execution_id, None)

    def permission(self, execution_id: str) -> DeliveryPermission | None:
        """HOLD or DENY; None if no signal withholds it."""
        return self._withheld.get(execution_id)

    def forget(self, execution_id: str, permission: DeliveryPermission) -> None:
        """`permission` is obsolete; that of a later signal stays."""
        if self._withheld.get(execution_id) is permission:
            del self._withheld[execution_id]

    def _is_stopped(self, execution_id: str) -> bool:
        permission = self._withheld.get(execution_id)
        return permission is not None and permission.leave is Permission.DENY

    def _withhold(self, execution_id: str, permission: DeliveryPermission) -> None:
        self._withheld.pop(execution_id, None)  # a repeated signal makes it the newest
        self._withheld[execution_id] = permission
        if len(self._withheld) > self.limit:
            del self._withheld[next(iter(self._withheld))]
