"""The sections about replicas, storage, and what one node carries."""

from typing import Any

from bench.operations.arithmetic import DAY_S, SHARE, disk_at_rest, rate_of_slots, robots_carried
from bench.operations.tables import number, percent, size, table

KEPT = {
    "rota_gateway": "log of webhooks: 30 days; their headers and bodies: `ROTA_POST_DAYS`, 7",
    "rota_scheduler": "14 days after the run's end",
    "rota_executor": "`ROTA_KEEP_DAYS`, 90 after the run's end",
    "rota_delivery": "`ROTA_KEEP_DAYS`, 90 after the last attempt",
    "rota_learner": "runs: 30 days; lessons: the robot's `learn.keep`, for ever by default",
    "rota_memory": "not by runs",
    "DELIVERIES": "14 days, and at most the size of the stream: it drops the oldest",
    "folder": "as the lessons",
}
HANDLED = "until it is handled"
PROFILES = (("a clock every 15 minutes", 96), ("a clock every hour, and 26 events a day", 50), ("8 events a day", 8))
SLOTS, MODEL_S = 100, 30.0
"""Of the example with a model that takes its time."""


def replicas(parts: dict[str, Any]) -> str:
    part = parts["replicas"]
    rows = [
        [title, f"{number(one['rate'])}/s", percent(one["services"][part["service"]]["cores"]), number(one["failed"])]
        for title, one in (("one", part["one"]), ("two", part["two"]))
    ]
    note = (
        f"The {part['service']} takes most of the processor, so here it alone is limited: `docker update --cpus "
        f"{part['limit']}` for each replica, a third of what it used at the highest rate and 0.1 at least. `docker "
        f"compose up --scale {part['service']}=2` starts the second; nothing else is set. **Two do "
        f"{part['ratio']:.2f} times the work of one.** A second scheduler stands by and adds no rate "
        "([operations](operations.md#more-replicas)); two gateways stand behind a proxy "
        "([compose](operations.md#compose))."
    )
    head = [f"replicas of the {part['service']}", "rate", "its processor, of a core", "runs failed"]
    return f"{note}\n\n{table(head, rows)}"


def storage(parts: dict[str, Any]) -> str:
    stored = parts["half"]["stored_per_1000"]
    rows = [
        [f"MongoDB `{name}`", size(one["data"]), size(one["stored"]), size(one["indexes"]), KEPT.get(name, "–")]
        for name, one in stored["mongo"].items()
    ]
    streams = {name: value for name, value in stored["nats"].items() if name in KEPT or abs(value) >= 1}
    rows += [[f"NATS `{name}`", size(value), "", "", KEPT.get(name, HANDLED)] for name, value in streams.items()]
    rows.append(["Qdrant, on disk", "", size(stored["qdrant"]["folder"]), "", KEPT["folder"]])
    note = (
        f"The difference that {number(parts['half']['completed'])} runs make, those of 50 %, for each 1,000. MongoDB "
        "compresses its data, and files grow in steps, so a long measurement is closer. What a run of many tasks, "
        "long texts or files adds comes on top."
    )
    return f"{note}\n\n{table(['', 'data', 'on disk', 'indexes', 'kept'], rows)}"


def team(parts: dict[str, Any]) -> str:
    rate, robots = parts["highest"]["rate"], parts["robots"]
    held, definitions = _per_robot(robots)
    rows = [
        [profile, number(runs), number(count), size(count * held), size(count * definitions)]
        for profile, runs in PROFILES
        for count in [robots_carried(rate, runs)]
    ]
    formula = (
        f"Robots = highest rate × {percent(SHARE)} × {DAY_S:,} s ÷ runs of a robot a day. Half of the highest rate "
        f"leaves room for hours with twice the mean: {number(rate)} × {SHARE} × {DAY_S:,} = "
        f"{number(rate * SHARE * DAY_S)} runs a day."
    )
    head = ["each robot has", "runs a day", "robots", "memory they add", "stored for them"]
    return "\n\n".join((formula, table(head, rows), _memory(robots), _disk(parts, rate * SHARE * DAY_S), _slots()))


def _per_robot(robots: dict[str, Any]) -> tuple[float, float]:
    """Bytes of memory, in all containers together, and bytes in the stores."""
    mongo = sum(one["stored"] + one["indexes"] for one in robots["stored_bytes"]["mongo"].values())
    held = sum(max(0.0, value) for name, value in robots["memory_bytes"].items() if name != "mailpit")
    return held, max(0.0, mongo) + max(0.0, robots["stored_bytes"]["nats"].get("KV_robots", 0.0))


def _memory(robots: dict[str, Any]) -> str:
    grown = sorted(robots["memory_bytes"].items(), key=lambda each: -each[1])
    most = ", ".join(f"{name} {size(value)}" for name, value in grown[:4] if value > 0)
    return (
        f"Memory and storage are those of {number(robots['robots'])} robots with a clock that is not due, created in "
        f"{number(robots['create_s'])} s, each with a definition of {size(robots['definition_bytes'])}; for each "
        f"robot the memory grew most in: {most or 'none'}. A team has 500 robots at most by default "
        "(`ROTA_ROBOTS_PER_TEAM`): more are several teams, or a higher limit. For more robots than were measured, "
        "the table extrapolates."
    )


def _disk(parts: dict[str, Any], runs_a_day: float) -> str:
    mongo = parts["half"]["stored_per_1000"]["mongo"]
    a_run = {name: max(0.0, one["stored"] + one["indexes"]) / 1000 for name, one in mongo.items()}
    return (
        f"At {number(runs_a_day)} runs a day MongoDB holds {size(disk_at_rest(a_run, runs_a_day))} once the oldest "
        "runs expire: the sum over the databases of *on disk* and *indexes* of a run × runs a day × days that they "
        "are kept; lessons come on top. A shorter `ROTA_KEEP_DAYS` takes less in proportion. `DELIVERIES` has its "
        "size for 20,000 runs a day, and keeps fewer days with more."
    )


def _slots() -> str:
    rate = rate_of_slots(SLOTS, MODEL_S)
    profile, runs = PROFILES[0]
    return (
        "**With a model** that takes its time, slots are the limit before the processor: rate ≤ slots ÷ seconds of a "
        "run. Slots are `ROTA_POOL` (10 by default), and at most `ROTA_CAPACITY` (100) for each executor. With "
        f"{SLOTS} slots and runs of {MODEL_S:g} s that is {SLOTS} ÷ {MODEL_S:g} = {number(rate)} runs a second, and "
        f"by the formula above {number(robots_carried(rate, runs))} robots with {profile}. The lower of the two "
        "numbers of robots counts."
    )
