"""Messages of runs that aren't there."""

from datetime import datetime, timedelta

from rota_common.errors import Transient
from rota_common.runtime.logs import logger
from rota_common.runtime.metrics import ORPHANED

ORPHANED_AFTER = timedelta(minutes=15)
"""A restored or failed-over database may be behind for a while; a run that is missing for longer is gone."""

LOG = logger(service="executor")


def drop_orphan(run_id: str, sent_at: datetime | None, *, now: datetime) -> None:
    """A run is stored before anything is requested for it: an answer that has waited this long has lost its run.

    Raises Transient for one that hasn't.
    """
    if sent_at is None or now - sent_at < ORPHANED_AFTER:
        raise Transient(f"execution {run_id} isn't there yet")
    ORPHANED.inc()
    LOG.warning("orphaned: dropped the message of an execution that isn't there", execution_id=run_id)
