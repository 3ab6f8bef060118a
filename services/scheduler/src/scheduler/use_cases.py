"""The scheduler's use cases over its adapters."""

from dataclasses import dataclass
from typing import Self
from uuid import uuid4

from rota_common.bus.room import BusRoom, NatsUsage
from rota_common.bus.subject_log import SubjectLog
from rota_common.runtime.service import Service
from rota_contracts.catalog import EXECUTION_REQUESTED
from scheduler.clocks.rearm_daemon import RearmDaemon
from scheduler.clocks.sync_clocks import SyncClocks
from scheduler.clocks.tick import Tick
from scheduler.dispatching.capacity import Capacity
from scheduler.dispatching.dispatch_signals import DispatchSignals
from scheduler.dispatching.dispatcher import Dispatcher, Timeouts
from scheduler.dispatching.measure_queue import MeasureQueue
from scheduler.dispatching.reconcile_slots import ReconcileSlots
from scheduler.dispatching.report_backlog import BacklogLimits, ReportBacklog
from scheduler.dispatching.run_end_effects import RunEndEffects
from scheduler.domain.queue import QueueState
from scheduler.event_publisher import EventPublisher
from scheduler.plans.change_plans import ChangePlans
from scheduler.plans.start_plans import StartPlans
from scheduler.ports import Adapters
from scheduler.robots.read_robot_states import ReadRobotStates
from scheduler.robots.remove_robot import RemoveRobot
from scheduler.robots.remove_team import RemoveTeam
from scheduler.robots.robot_cache import RobotCache
from scheduler.settings import Settings
from scheduler.triggers.cancel_queued import CancelQueued
from scheduler.triggers.find_retryable import FindRetryable
from scheduler.triggers.find_trigger import FindTrigger
from scheduler.triggers.merge_goals import MergeGoals
from scheduler.triggers.reject_buried import RejectBuried


@dataclass(frozen=True, kw_only=True)
class UseCases:
    signals: DispatchSignals
    robots: RobotCache
    room: BusRoom
    capacity: Capacity
    sync_clocks: SyncClocks
    tick: Tick
    dispatcher: Dispatcher
    change_plans: ChangePlans
    cancel_queued: CancelQueued
    find_trigger: FindTrigger
    find_retryable: FindRetryable
    merge_goals: MergeGoals
    read_robot_states: ReadRobotStates
    remove_robot: RemoveRobot
    remove_team: RemoveTeam
    reject_buried: RejectBuried
    measure_queue: MeasureQueue
    report_backlog: ReportBacklog

    @classmethod
    def over(cls, adapters: Adapters, settings: Settings, service: Service) -> Self:
        clock, signals = service.runtime.clock, DispatchSignals()
        requests = SubjectLog(service.bus, EXECUTION_REQUESTED.stream or "")
        publisher = EventPublisher(publish=service.publish, stream=requests, clock=clock)
        room = BusRoom(usage=NatsUsage(service.bus), degraded=service.degraded)
        capacity = Capacity(pool=settings.pool, on_more=signals.wake)

        def lag() -> float:
            return 0 if signals.has_lease.is_set() else settings.tick_lag

        sync_clocks = SyncClocks(clocks=adapters.clocks, clock=clock, lag=lag)
        robots = RobotCache(definitions=adapters.definitions, sync_clocks=sync_clocks, refresh=settings.refresh)
        change_plans = ChangePlans(
            plans=adapters.plans, queue=adapters.queue, robots=robots, publisher=publisher, clock=clock
        )
        dispatcher = Dispatcher(
            queue=adapters.queue,
            cancel_requests=adapters.cancel_requests,
            start_plans=StartPlans(
                plans=adapters.plans,
                queue=adapters.queue,
                change_plans=change_plans,
                robots=robots,
                room=room,
                clock=clock,
            ),
            robots=robots,
            publisher=publisher,
            effects=RunEndEffects(
                robots=robots, publisher=publisher, rearm=RearmDaemon(clocks=adapters.clocks, clock=clock)
            ),
            reconcile=ReconcileSlots(
                ask=service.ask, clock=clock, patience=settings.slot_patience, timeout=settings.lease / 3
            ),
            signals=signals,
            slots=capacity.slots,
            timeouts=Timeouts(lease=settings.lease, republish_after=settings.republish_after),
            outages=service.outages,
            owner=f"{service.name}-{uuid4().hex[:8]}",
            clock=clock,
        )

        def queue_state() -> QueueState | None:
            return dispatcher.queue_state if signals.has_lease.is_set() else None

        return cls(
            signals=signals,
            robots=robots,
            room=room,
            capacity=capacity,
            sync_clocks=sync_clocks,
            tick=Tick(
                clocks=adapters.clocks,
                queue=adapters.queue,
                publisher=publisher,
                room=room,
                clock=clock,
                wake=signals.wake,
                lag=lag,
            ),
            dispatcher=dispatcher,
            change_plans=change_plans,
            cancel_queued=CancelQueued(cancel_requests=adapters.cancel_requests, wake=signals.wake, clock=clock),
            find_trigger=FindTrigger(queue=adapters.queue),
            find_retryable=FindRetryable(ended=adapters.ended),
            merge_goals=MergeGoals(robot_queues=adapters.robot_queues),
            read_robot_states=ReadRobotStates(
                robots=robots, clocks=adapters.clocks, robot_queues=adapters.robot_queues, clock=clock
            ),
            remove_robot=RemoveRobot(dispatcher=dispatcher, change_plans=change_plans),
            remove_team=RemoveTeam(dispatcher=dispatcher, documents=adapters.team_documents),
            reject_buried=RejectBuried(queue=adapters.queue, publisher=publisher, clock=clock),
            measure_queue=MeasureQueue(queue_state=queue_state, slots=capacity.slots, robots=robots, clock=clock),
            report_backlog=ReportBacklog(
                queue_state=queue_state,
                limits=BacklogLimits(settings.backlog_per_robot, settings.backlog_per_team),
                publish=service.publish,
                clock=clock,
            ),
        )
