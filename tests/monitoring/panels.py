"""The panels of the dashboards: what each shows, in which unit, and by which queries."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Panel:
    """`queries`: legend → PromQL. `unit` is Grafana's. `limit`: red from there on. `now`: one figure, no graph."""

    title: str
    description: str
    unit: str
    queries: dict[str, str]
    limit: float | None = None
    now: bool = False


@dataclass(frozen=True)
class Dashboard:
    """`picks`: variables, each a label of a metric whose values one chooses from."""

    title: str
    panels: list[Panel]
    picks: dict[str, str] | None = None


def _rate(metric: str, by: str, where: str = "") -> str:
    return f"sum by ({by}) (rate({metric}{where}[$__rate_interval]))"


def _quantile(share: float, metric: str, by: str = "", where: str = "") -> str:
    labels = f"{by}, le" if by else "le"
    return f"histogram_quantile({share}, sum by ({labels}) (rate({metric}_bucket{where}[$__rate_interval])))"


def _quantiles(metric: str, where: str = "") -> dict[str, str]:
    return {f"p{share * 100:g}": _quantile(share, metric, where=where) for share in (0.5, 0.95, 0.99)}


OVERVIEW = Dashboard(
    "Rota: overview",
    [
        Panel(
            "Services ready", "Services with a ready replica; seven are all.", "short",
            {"ready": "sum(max by (service) (rota_ready))"}, now=True,
        ),
        Panel(
            "Starts within 60 s", "The objective is 95 %.", "percentunit",
            {"last hour": "1 - rota:start_late:ratio_rate1h"}, now=True,
        ),
        Panel(
            "Deliveries attempted within 10 s", "The objective is 99 %.", "percentunit",
            {"last hour": "1 - rota:delivery_late:ratio_rate1h"}, now=True,
        ),
        Panel(
            "Clocks within 5 s", "The objective is 99 %.", "percentunit",
            {"last hour": "1 - rota:clock_late:ratio_rate1h"}, now=True,
        ),
        Panel(
            "Executions", "What waits, holds a slot or is parked, against the slots that there are.", "short",
            {"{{state}}": "max by (state) (rota_queue_executions)", "slots": "max(rota_capacity_executions)"},
        ),
        Panel(
            "Oldest execution that waits", "By what it waits for: a slot, or its own robot's limit or pause.",
            "s", {"{{waits_for}}": "max by (waits_for) (rota_queue_oldest_seconds)"}, limit=600,
        ),
        Panel(
            "Trigger to start", "Time from a trigger's receipt to the start of its run.", "s",
            _quantiles("rota_start_delay_seconds"),
        ),
        Panel(
            "Messages handled", "By outcome; later is a return that comes again.", "ops",
            {"{{outcome}}": _rate("rota_messages_total", "outcome")},
        ),
        Panel(
            "Heartbeats", "Executors that report, and replicas of the scheduler that dispatch (one is right).", "short",
            {"executors": "max(rota_executors)", "dispatching": "sum(rota_dispatching)"},
        ),
        Panel(
            "Event loop lag", "p99 of the time by which a process wakes its timers too late.", "s",
            {"{{instance}}": _quantile(0.99, "rota_event_loop_lag_seconds", "instance")}, limit=0.5,
        ),
        Panel(
            "CPU", "Cores of each process; one event loop has one at most.", "short",
            {"{{instance}}": "sum by (instance) (rate(process_cpu_seconds_total[$__rate_interval]))"}, limit=0.9,
        ),
        Panel(
            "Memory", "Resident memory of each process.", "bytes",
            {"{{instance}}": "sum by (instance) (process_resident_memory_bytes)"},
        ),
    ],
)  # fmt: skip

ROBOT = Dashboard(
    "Rota: robot",
    [
        Panel("Robots", "Robots that the scheduler knows.", "short", {"robots": "max(rota_robots)"}, now=True),
        Panel(
            "Started", "Runs that began, by what woke their robot.", "ops",
            {"{{trigger}}": _rate("rota_start_delay_seconds_count", "trigger")},
        ),
        Panel(
            "Trigger to start, by trigger", "p95 of the time from a trigger's receipt to the start of its run.", "s",
            {"{{trigger}}": _quantile(0.95, "rota_start_delay_seconds", "trigger")},
        ),
        Panel(
            "Time of runs' messages", "p95; of execution.requested it is the work up to the first wait.", "s",
            {"{{channel}}": _quantile(0.95, "rota_handling_seconds", "channel", '{service="executor"}')},
        ),
        Panel(
            "Robots' own limits", "How long the oldest has waited for its own robot: max_running, or a pause.",
            "s", {"oldest": 'max(rota_queue_oldest_seconds{waits_for="robot"})'},
        ),
        Panel(
            "Clock delay", "Time from the due instant of a clock's run to its place in the queue.", "s",
            _quantiles("rota_clock_lateness_seconds"), limit=5,
        ),
        Panel(
            "Missed runs of clocks", "That are not made up for, by reason.", "short",
            {"{{reason}}": "sum by (reason) (increase(rota_clock_missed_total[1h]))"}, limit=1,
        ),
        Panel(
            "Scan of the clocks", "Time of one scan for what is due.", "s", _quantiles("rota_tick_seconds"), limit=1,
        ),
        Panel(
            "Changes of databases", "Of those that are sources, by outcome; and gaps that can't be read again.", "ops",
            {
                "{{outcome}}": _rate("rota_database_changes_total", "outcome"),
                "gaps": "sum(rate(rota_database_lost_total[$__rate_interval]))",
            },
        ),
    ],
)  # fmt: skip

CHOSEN, DELIVERED = '{channel=~"$channel"}', '{channel=~"$channel",outcome="delivered"}'

DELIVERY = Dashboard(
    "Rota: delivery",
    [
        Panel(
            "Attempts", "Attempts at targets, by the target's state afterwards.", "ops",
            {"{{channel}} {{outcome}}": _rate("rota_delivery_attempts_total", "channel, outcome", CHOSEN)},
        ),
        Panel(
            "Attempts that deliver", "Share of all attempts.", "percentunit",
            {
                "{{channel}}": _rate("rota_delivery_attempts_total", "channel", DELIVERED)
                + " / "
                + _rate("rota_delivery_attempts_total", "channel", CHOSEN)
            },
        ),
        Panel(
            "Request to acceptance", "Of what arrived, retries included.", "s",
            _quantiles("rota_delivery_seconds", CHOSEN), limit=30,
        ),
        Panel(
            "Request to first attempt", "Rota's own share of a delivery's time.", "s",
            _quantiles("rota_delivery_delay_seconds", CHOSEN), limit=10,
        ),
        Panel(
            "Time of an attempt", "p95 of what receivers take to answer.", "s",
            {"{{channel}}": _quantile(0.95, "rota_delivery_attempt_seconds", "channel", CHOSEN)},
        ),
        Panel(
            "Targets that get nothing", "Circuit breakers that are open, and targets that are switched off.", "short",
            {"{{reason}}": "max by (reason) (rota_blocked_targets)"}, limit=1,
        ),
    ],
    picks={"channel": "rota_delivery_attempts_total"},
)  # fmt: skip

OF_TEAM = '{team=~"$team"}'

MODELS = Dashboard(
    "Rota: models and spend",
    [
        Panel(
            "Cost in a day", "Of the last 24 hours, by currency. The stores' own sums: rota spend.", "short",
            {"{{currency}}": f"sum by (currency) (increase(rota_model_cost_total{OF_TEAM}[24h]))"}, now=True,
        ),
        Panel(
            "Calls", "By outcome.", "ops",
            {"{{model}} {{outcome}}": _rate("rota_model_calls_total", "model, outcome", OF_TEAM)},
        ),
        Panel(
            "Time of a call", "p95, by model; of all teams.", "s",
            {"{{model}}": _quantile(0.95, "rota_model_call_seconds", "model")},
        ),
        Panel(
            "Tokens", "That went in and came out, by model.", "ops",
            {"{{model}} {{direction}}": _rate("rota_model_tokens_total", "model, direction", OF_TEAM)},
        ),
        Panel(
            "Cost in an hour", "By team, in its currency.", "short",
            {
                "{{team}} {{currency}}": f"sum by (team, currency) (increase(rota_model_cost_total{OF_TEAM}[1h]))",
            },
        ),
        Panel(
            "Ceilings", "Share of each team's daily ceiling that is spent or reserved.", "percentunit",
            {"{{team}} {{limit}}": f"max by (team, limit) (rota_ceiling_used_ratio{OF_TEAM})"}, limit=0.9,
        ),
        Panel(
            "Held back by ceilings", "Calls that weren't made, by whose ceiling.", "short",
            {"{{scope}}": "sum by (scope) (increase(rota_ceiling_refusals_total[1h]))"}, limit=1,
        ),
        Panel(
            "Connectors away", "1 while a circuit breaker is open; and questions to fallbacks a second.", "short",
            {
                "{{connector}} open": "max by (connector) (rota_connector_open)",
                "{{connector}} to {{fallback}}": _rate("rota_connector_fallbacks_total", "connector, fallback"),
            },
            limit=1,
        ),
    ],
    picks={"team": "rota_model_calls_total"},
)  # fmt: skip

BUS = Dashboard(
    "Rota: bus",
    [
        Panel("Dead letters", "That wait for a person.", "short",
              {"letters": 'max(rota_stream_messages{stream="DEAD"})'}, limit=1, now=True),
        Panel(
            "Fill of streams and buckets", "Of what each may hold; from 90 % on new work is refused.", "percentunit",
            {"{{stream}}": "max by (stream) (rota_stream_bytes) / max by (stream) (rota_stream_max_bytes > 0)"},
            limit=0.9,
        ),
        Panel(
            "Messages held", "By stream or bucket.", "short",
            {"{{stream}}": "max by (stream) (rota_stream_messages)"},
        ),
        Panel("Published", "Facts, by service.", "ops", {"{{service}}": _rate("rota_published_total", "service")}),
        Panel(
            "Handled", "Messages, by service and outcome.", "ops",
            {"{{service}} {{outcome}}": _rate("rota_messages_total", "service, outcome")},
        ),
        Panel(
            "Handling time", "p95, by service.", "s",
            {"{{service}}": _quantile(0.95, "rota_handling_seconds", "service")},
        ),
        Panel(
            "Buried", "Messages that became dead letters, by channel.", "short",
            {"{{service}} {{channel}}": "sum by (service, channel) (increase(rota_dead_letters_total[1h]))"}, limit=1,
        ),
        Panel(
            "Questions", "Requests that services answered, by outcome.", "ops",
            {"{{service}} {{outcome}}": _rate("rota_questions_total", "service, outcome")},
        ),
    ],
)  # fmt: skip

STORES = Dashboard(
    "Rota: stores",
    [
        Panel(
            "Servers answer", "1 while a replica of the service reaches the server.", "short",
            {"{{service}} {{dependency}}": "max by (service, dependency) (rota_dependency_up)"},
        ),
        Panel(
            "Ready", "Replicas that are ready, by service.", "short",
            {"{{service}}": "sum by (service) (rota_ready)"},
        ),
        Panel(
            "Loops that fail", "Failures of background loops within an hour.", "short",
            {"{{service}} {{loop}}": "sum by (service, loop) (increase(rota_background_failures_total[1h]))"}, limit=10,
        ),
        Panel(
            "Documents set aside", "That the version which runs can't read.", "short",
            {"{{service}} {{store}}": "sum by (service, store) (rota_unreadable_documents_total)"}, limit=1,
        ),
        Panel(
            "Removed", "Lessons and what else is over its time, within an hour; messages of executions that are gone.",
            "short",
            {
                "{{kind}}": "sum by (kind) (increase(rota_forgotten_total[1h]))",
                "orphaned": "sum(increase(rota_orphaned_total[1h]))",
            },
        ),
        Panel(
            "Spans", "Of traces, sent and lost.", "ops",
            {"{{service}} {{outcome}}": _rate("rota_spans_total", "service, outcome")},
        ),
    ],
)  # fmt: skip

DASHBOARDS = {
    "overview": OVERVIEW,
    "robot": ROBOT,
    "delivery": DELIVERY,
    "models-and-spend": MODELS,
    "bus": BUS,
    "stores": STORES,
}
