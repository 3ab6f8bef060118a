"""Cases of alerts: what Prometheus reads, minute by minute, where each fires and where a neighbour of it does not."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rota_contracts.catalog import SERVICES

Series = Mapping[str, str]
"""Name and labels → values a minute, as promtool writes them: `0+5x60` rises by 5 for an hour."""

MINUTES, HOURS = 80, 480
"""Of a case, and of one of an objective: windows of an hour and of six fit, a longer one takes what there is."""
READY = {f'rota_ready{{service="{service}",instance="{service}"}}': f"1x{HOURS}" for service in SERVICES}
WELL: Series = {
    **READY,
    'rota_dependency_up{service="executor",dependency="nats"}': f"1x{HOURS}",
    'rota_dispatching{instance="scheduler"}': f"1x{HOURS}",
    'rota_executors{instance="scheduler"}': f"2x{HOURS}",
    'rota_dispatching{instance="memory"}': f"0x{HOURS}",
    'rota_executors{instance="memory"}': f"0x{HOURS}",
}
"""Where nothing is wrong; a service that is no scheduler says 0 of what only that one knows."""


@dataclass(frozen=True)
class Case:
    """`at`: the minute that is looked at. `firing`: those that fire and no others, by number."""

    what: str
    given: Series
    firing: Mapping[str, int] = field(default_factory=dict)
    at: int = MINUTES


def _ready(service: str, values: str) -> Series:
    return {f'rota_ready{{service="{service}",instance="{service}"}}': values}


def _attempts(channel: str, **outcomes: str) -> Series:
    name = "rota_delivery_attempts_total"
    return {f'{name}{{channel="{channel}",outcome="{outcome}"}}': values for outcome, values in outcomes.items()}


def _calls(**outcomes: str) -> Series:
    return {
        f'rota_model_calls_total{{team="a",model="m",outcome="{outcome}"}}': values
        for outcome, values in outcomes.items()
    }


def _stream(name: str, used: int, limit: int = 100) -> Series:
    return {
        f'rota_stream_bytes{{stream="{name}"}}': f"{used}x{MINUTES}",
        f'rota_stream_max_bytes{{stream="{name}"}}': f"{limit}x{MINUTES}",
    }


def _timed(metric: str, labels: str, limit: str, *, within: str, all_of_them: str) -> Series:
    def series(suffix: str, more: str = "") -> str:
        return f"{metric}_{suffix}{{{','.join(filter(None, [labels, more]))}}}"

    return {
        series("bucket", f'le="{limit}"'): within,
        series("bucket", 'le="+Inf"'): all_of_them,
        series("count"): all_of_them,
    }


def _objective(name: str, metric: str, labels: str, limit: str, share: float) -> list[Case]:
    """A thousand a minute; `share`: of errors, that the objective allows."""

    def late(rate: float) -> Series:
        return _timed(metric, labels, limit, within=f"0+{1000 * (1 - rate):g}x{HOURS}", all_of_them=f"0+1000x{HOURS}")

    fast, steadily, slowly = (f"Rota{name}ObjectiveBurns{speed}" for speed in ("Fast", "Steadily", "Slowly"))
    return [
        Case(f"{name}: all that is allowed is late", late(share * 0.9), at=HOURS),
        Case(f"{name}: a little more", late(share * 1.5), {slowly: 1}, at=HOURS),
        Case(f"{name}: seven times as much", late(share * 7), {steadily: 1, slowly: 1}, at=HOURS),
        Case(f"{name}: sixteen times as much", late(share * 16), {fast: 1, steadily: 1, slowly: 1}, at=HOURS),
    ]


CASES = [
    Case("all is well", {}),
    Case("a service is gone", _ready("executor", "_x80"), {"RotaServiceDown": 1}),
    Case("a service restarts", _ready("executor", f"1x40 _ 1x{MINUTES}"), at=42),
    Case("no replica is ready", _ready("learner", f"0x{MINUTES}"), {"RotaServiceNotReady": 1}),
    Case("one replica of two is ready", {'rota_ready{service="learner",instance="2"}': f"0x{MINUTES}"}),
    Case(
        "no replica reaches Mongo",
        {'rota_dependency_up{service="memory",dependency="mongo"}': f"0x{MINUTES}"},
        {"RotaDependencyAway": 1},
    ),
    Case(
        "one replica doesn't reach NATS",
        {'rota_dependency_up{service="executor",dependency="nats",instance="2"}': f"0x{MINUTES}"},
    ),
    Case(
        "a loop fails each minute",
        {'rota_background_failures_total{service="memory",loop="tidy"}': f"0+1x{MINUTES}"},
        {"RotaLoopFailing": 1},
    ),
    Case(
        "a loop fails sometimes",
        {'rota_background_failures_total{service="memory",loop="tidy"}': "0 1 1 1 1 2 2 2 2 3x100"},
        at=20,
    ),
    Case(
        "timers are a second late",
        _timed(
            "rota_event_loop_lag_seconds",
            'instance="e"',
            "0.5",
            within=f"0+50x{MINUTES}",
            all_of_them=f"0+100x{MINUTES}",
        )
        | {'rota_event_loop_lag_seconds_bucket{instance="e",le="1.0"}': f"0+100x{MINUTES}"},
        {"RotaEventLoopBlocked": 1},
    ),
    Case(
        "timers are late rarely",
        _timed(
            "rota_event_loop_lag_seconds",
            'instance="e"',
            "0.5",
            within=f"0+1000x{MINUTES}",
            all_of_them=f"0+1001x{MINUTES}",
        ),
    ),
    Case(
        "documents are set aside",
        {'rota_unreadable_documents_total{service="executor",store="runs"}': f"2x{MINUTES}"},
        {"RotaDocumentsUnreadable": 1},
    ),
    Case(
        "no documents are set aside",
        {'rota_unreadable_documents_total{service="executor",store="runs"}': f"0x{MINUTES}"},
    ),
    Case(
        "no scheduler dispatches",
        {'rota_dispatching{instance="scheduler"}': f"0x{MINUTES}"},
        {"RotaNoDispatcher": 1},
    ),
    Case(
        "the schedulers are gone, which is one alert",
        {
            **_ready("scheduler", "_x80"),
            'rota_dispatching{instance="scheduler"}': "_x80",
            'rota_executors{instance="scheduler"}': "_x80",
        },
        {"RotaServiceDown": 1},
    ),
    Case(
        "another replica dispatches now",
        {'rota_dispatching{instance="scheduler"}': f"1x50 0x{MINUTES}", 'rota_dispatching{instance="2"}': "0x50 1x80"},
        at=52,
    ),
    Case(
        "executors fall silent",
        {'rota_executors{instance="scheduler"}': f"2x10 0x{MINUTES}"},
        {"RotaNoExecutorHeartbeat": 1},
    ),
    Case("one executor falls silent", {'rota_executors{instance="scheduler"}': f"2x10 1x{MINUTES}"}),
    Case(
        "the pool is full for long",
        {'rota_queue_oldest_seconds{waits_for="slot"}': f"0+60x{MINUTES}"},
        {"RotaQueueOld": 1},
    ),
    Case(
        "a robot's backlog waits for the robot",
        {
            'rota_queue_oldest_seconds{waits_for="robot"}': f"0+60x{MINUTES}",
            'rota_queue_oldest_seconds{waits_for="slot"}': f"500x{MINUTES}",
        },
    ),
    Case(
        "clocks miss runs",
        {'rota_clock_missed_total{reason="too_old"}': f"0x70 3x{MINUTES}"},
        {"RotaClockRunsMissed": 1},
    ),
    Case("clocks missed runs an hour ago", {'rota_clock_missed_total{reason="too_old"}': f"0x40 3x{MINUTES}"}),
    Case(
        "a channel fails",
        _attempts("webhook", delivered=f"0+2x{MINUTES}", retrying=f"0+2x{MINUTES}"),
        {"RotaDeliveriesFailing": 1},
    ),
    Case("a channel fails at times", _attempts("webhook", delivered=f"0+20x{MINUTES}", retrying=f"0+2x{MINUTES}")),
    Case("the only delivery fails", _attempts("webhook", delivered=f"0x{MINUTES}", retrying=f"0x70 1x{MINUTES}")),
    Case(
        "receivers refuse for good",
        _attempts("email", delivered=f"0+20x{MINUTES}", failed=f"0+1x{MINUTES}"),
        {"RotaDeliveriesGivenUp": 1},
    ),
    Case("a receiver refused twice", _attempts("email", delivered=f"0+20x{MINUTES}", failed=f"0x40 2x{MINUTES}")),
    Case(
        "deliveries arrive after a minute",
        _timed(
            "rota_delivery_seconds",
            'channel="webhook"',
            "30.0",
            within=f"0+90x{MINUTES}",
            all_of_them=f"0+100x{MINUTES}",
        )
        | {'rota_delivery_seconds_bucket{channel="webhook",le="60.0"}': f"0+100x{MINUTES}"},
        {"RotaDeliverySlow": 1},
    ),
    Case(
        "deliveries arrive within 30 s",
        _timed(
            "rota_delivery_seconds",
            'channel="webhook"',
            "30.0",
            within=f"0+1000x{MINUTES}",
            all_of_them=f"0+1001x{MINUTES}",
        ),
    ),
    Case(
        "a target is switched off",
        {'rota_blocked_targets{reason="disabled"}': f"1x{MINUTES}"},
        {"RotaTargetDisabled": 1},
    ),
    Case(
        "many targets don't answer",
        {'rota_blocked_targets{reason="open"}': f"5x{MINUTES}"},
        {"RotaTargetBreakersOpen": 1},
    ),
    Case("one target doesn't answer", {'rota_blocked_targets{reason="open"}': f"1x{MINUTES}"}),
    Case("a model fails", _calls(answered=f"0+1x{MINUTES}", failed=f"0+1x{MINUTES}"), {"RotaModelCallsFailing": 1}),
    Case("a model fails at times, and refuses", _calls(answered="0+8x80", failed="0+1x80", refused="0+9x80")),
    Case("a provider is away", {'rota_connector_open{connector="openai"}': f"1x{MINUTES}"}, {"RotaConnectorOpen": 1}),
    Case("a provider was away for a moment", {'rota_connector_open{connector="openai"}': "0x10 1x3 0x80"}),
    Case(
        "a team nears its ceiling",
        {'rota_ceiling_used_ratio{team="acme",limit="money"}': f"0.95x{MINUTES}"},
        {"RotaSpendNearCeiling": 1},
    ),
    Case("a team has room", {'rota_ceiling_used_ratio{team="acme",limit="money"}': f"0.89x{MINUTES}"}),
    Case(
        "a team's calls are held back",
        {'rota_ceiling_refusals_total{scope="team"}': f"0x70 1x{MINUTES}"},
        {"RotaSpendAtCeiling": 1},
    ),
    Case("a robot's own ceiling holds its calls back", {'rota_ceiling_refusals_total{scope="robot"}': "0x70 1x80"}),
    Case("a dead letter waits", {'rota_stream_messages{stream="DEAD"}': f"1x{MINUTES}"}, {"RotaDeadLetters": 1}),
    Case("other streams hold messages", {'rota_stream_messages{stream="DELIVERIES"}': f"900x{MINUTES}"}),
    Case(
        "a handler fails at all messages",
        {'rota_dead_letters_total{service="executor",channel="execution.requested"}': f"0+1x{MINUTES}"},
        {"RotaDeadLettersRising": 1},
    ),
    Case(
        "a handler fails at one message",
        {'rota_dead_letters_total{service="executor",channel="execution.requested"}': f"0x70 1x{MINUTES}"},
    ),
    Case("a stream fills", _stream("FACTS", 80), {"RotaStreamFilling": 1}),
    Case("a stream is nearly full", _stream("FACTS", 95), {"RotaStreamFilling": 1, "RotaStreamFull": 1}),
    Case("a stream that drops its oldest is full", _stream("DELIVERIES", 99)),
    Case("a stream without a limit", _stream("FACTS", 99, limit=-1)),
    Case("a database forgets", {"rota_database_lost_total": f"0x40 1x{MINUTES}"}, {"RotaDatabaseChangesLost": 1}),
    Case("a database forgot long ago", {"rota_database_lost_total": f"0x10 1x{MINUTES}"}),
]


def _backup(
    *, newest: int | None, failed: int | None = None, namespace: str = "rota", job: str = "backup-29"
) -> Series:
    """`newest`: when the last one ended that succeeded; `failed`: when the Job began that failed. In seconds."""
    of_it, of_job = f'namespace="{namespace}",cronjob="backup"', f'namespace="{namespace}",job_name="{job}"'
    given = {
        f"kube_cronjob_created{{{of_it}}}": "1000x1000",
        f'kube_job_failed{{{of_job},condition="false"}}': "0x1000",
        f'kube_job_failed{{{of_job},condition="true"}}': f"{0 if failed is None else 1}x1000",
        f"kube_job_status_start_time{{{of_job}}}": f"{failed or 1000}x1000",
    }
    return (
        given if newest is None else given | {f"kube_cronjob_status_last_successful_time{{{of_it}}}": f"{newest}x1000"}
    )


LATE = 900
"""A minute, 54000 seconds after the beginning."""

BACKUPS = [
    Case("backups succeed", _backup(newest=40_000), at=LATE),
    Case("no backup succeeds any more", _backup(newest=5000), {"RotaBackupOld": 1}, at=LATE),
    Case("no backup has ever succeeded", _backup(newest=None), {"RotaBackupOld": 1}, at=LATE),
    Case("the first backup fails", _backup(newest=None, failed=5000), {"RotaBackupFailed": 1}, at=120),
    Case("the newest backup fails", _backup(newest=20_000, failed=40_000), {"RotaBackupFailed": 1}, at=LATE),
    Case("a backup failed before one that succeeded", _backup(newest=40_000, failed=20_000), at=LATE),
    Case("a restore fails", _backup(newest=20_000, failed=40_000, job="restore-now"), at=LATE),
    Case("the backup of another program fails", _backup(newest=5000, failed=40_000, namespace="shop"), at=LATE),
    Case("both", _backup(newest=5000, failed=40_000), {"RotaBackupFailed": 1, "RotaBackupOld": 1}, at=LATE),
]

OBJECTIVES = [
    *_objective("Start", "rota_start_delay_seconds", 'trigger="human"', "60.0", 0.05),
    *_objective("Delivery", "rota_delivery_delay_seconds", 'channel="webhook"', "10.0", 0.01),
    *_objective("Clock", "rota_clock_lateness_seconds", "", "5.0", 0.01),
]
