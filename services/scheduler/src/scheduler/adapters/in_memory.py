"""The scheduler's adapters in memory, held to the same tests as the real ones."""

from rota_common.clock import Clock, now
from rota_common.testing.in_memory_stores import InMemoryTeamDocuments
from scheduler.adapters.in_memory_clocks import InMemoryClocks
from scheduler.adapters.in_memory_definitions import InMemoryDefinitions
from scheduler.adapters.in_memory_ended_triggers import InMemoryEndedTriggers
from scheduler.adapters.in_memory_plans import InMemoryPlans
from scheduler.adapters.in_memory_queue import InMemoryCancelRequests, InMemoryQueue
from scheduler.adapters.in_memory_robot_queues import InMemoryRobotQueues
from scheduler.ports import Adapters


def in_memory(clock: Clock = now, *, lease: float = 2.0) -> Adapters:
    """Stores that share their data, as the collections of one database do; `lease` in seconds."""
    plans = InMemoryPlans()
    queue = InMemoryQueue(lease=lease, clock=clock, plans=plans)
    return Adapters(
        definitions=InMemoryDefinitions(),
        queue=queue,
        plans=plans,
        clocks=InMemoryClocks(),
        cancel_requests=InMemoryCancelRequests(queue, clock=clock),
        robot_queues=InMemoryRobotQueues(queue),
        ended=InMemoryEndedTriggers(queue),
        team_documents=InMemoryTeamDocuments(),
    )
