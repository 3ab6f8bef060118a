"""The beginning of an execution, its time limit, its phase times, and whether it is learnt from."""

from datetime import datetime, timedelta

from executor.domain.run import Run
from rota_contracts.json_values import MISSING, at, kind
from rota_contracts.messages.execution import ExecStatus, Execution
from rota_contracts.messages.learning import scope_of
from rota_contracts.messages.run_history import PhaseTime
from rota_contracts.messages.trigger import ExecutorMode, TriggerReceivedV1, TriggerType
from rota_contracts.robots.clock_config import duration
from rota_contracts.robots.robot import Phase, Robot


def begin(
    execution_id: str,
    trigger: TriggerReceivedV1,
    robot: Robot,
    *,
    now: datetime,
    traceparent: str,
    definitions_rev: int = 0,
) -> Run:
    """A new run: of a clock it begins with inspiration, of a person or an event with goals."""
    mode = trigger.executor_mode or robot.robot_config.executor.mode
    notes = []
    if mode is ExecutorMode.SANDBOX:
        notes.append("no sandbox runtime is configured: this run behaves like dryrun")
    phase = Phase.INSPIRATION if trigger.type is TriggerType.CLOCK else Phase.GOALS
    execution = Execution(
        execution_id=execution_id,
        team_id=trigger.team_id,
        member_id=trigger.member_id,
        robot_rev=robot.rev,
        trigger=trigger,
        executor_mode=mode,
        status=ExecStatus.RUNNING,
        phase=phase,
        phases=[PhaseTime(phase=phase, started_at=now)],
        notes=notes,
        created_at=now,
        started_at=now,
        deadline_at=now + time_limit(robot)[0],
    )
    return Run(execution=execution, robot=robot, traceparent=traceparent, definitions_rev=definitions_rev)


def time_limit(robot: Robot) -> tuple[timedelta, str]:
    """The working time of a run, and the setting that limits it: the smaller of both."""
    config = robot.robot_config
    limits = [(duration(config.executor.max_duration), f"max_duration {config.executor.max_duration}")]
    if config.clock is not None and config.clock.timeout is not None:
        limits.append((duration(config.clock.timeout), f"clock.timeout {config.clock.timeout}"))
    return min(limits)


def timed(before: Run, after: Run, now: datetime) -> Run:
    """`after`, with the instants at which phases were left and entered."""
    phase, phases = after.execution.phase, list(after.execution.phases)
    left = after.over or phase is not before.execution.phase
    if left and phases and phases[-1].finished_at is None:
        phases[-1] = phases[-1].model_copy(update={"finished_at": now})
    elif not left:
        return after
    if not after.over and (not phases or phases[-1].phase is not phase):
        phases.append(PhaseTime(phase=phase, started_at=now))
    return after.with_execution(phases=phases)


def learns_nothing(run: Run) -> str | None:
    """Why the learner isn't asked; None if it is."""
    if run.execution.executor_mode is not ExecutorMode.STANDARD:
        return "dry run"
    if not run.robot.robot_config.learn.on:
        return "learning is switched off"
    return no_scope(run) if lesson_scope(run) is None else None


def lesson_scope(run: Run) -> str | None:
    """The scope of the lessons that the run is given and leaves: empty for a robot without `learn.by`, None where the
    run has no value there."""
    by = run.robot.robot_config.learn.by
    return "" if by is None else scope_of(at(run.execution.trigger.input.data, by)) or None


def no_scope(run: Run) -> str:
    """Why a run of a robot with `learn.by` has no lessons."""
    by = run.robot.robot_config.learn.by or ""
    found = at(run.execution.trigger.input.data, by)
    got = "nothing" if found is MISSING else "an empty text" if isinstance(found, str) else kind(found)
    return f"learn.by: expected a text or a number at {by} of the event, got {got}"
