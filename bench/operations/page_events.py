"""The sections about kills and the upgrade."""

from typing import Any

from bench.operations.tables import number, seconds, table


def recovery(parts: dict[str, Any]) -> str:
    part = parts["recovery"]
    rows = [
        [name, seconds(one["healthy_s"]), seconds(one["result_s"]), seconds(one["longest_s"])]
        for name, one in part["services"].items()
    ]
    note = (
        f"Each container gets SIGKILL while {number(part['rate'])} events a second come, and is started again at "
        f"once, one after the other. Of {number(part['accepted'])} accepted events {number(part['completed'])} have "
        f"their result; {number(part['repeated'])} came again under the same `webhook-id`, {number(part['doubled'])} "
        "under another. Clients post again until they are answered with 202."
    )
    head = [
        "killed",
        "healthy after",
        "first result of an event posted after the kill",
        "longest from an event around the kill to its result",
    ]
    return f"{note}\n\n{table(head, rows)}"


def upgrade(parts: dict[str, Any]) -> str:
    part = parts["upgrade"]
    counts = ("webhooks accepted", "runs of the clock", "calls of an agent", "results received", "sent again")
    wrong = ("failed", "lost", "doubled", "unreadable")
    note = (
        f"`make upgrade-test` takes {part['from']} to {part['to']} and back, service by service, as processes on the "
        "same machine, while webhooks, a clock and calls of agents go on. The upgrade takes "
        f"{seconds(part['upgrade, s'])}, the rollback, with both versions side by side for a while, "
        f"{seconds(part['rollback, s'])}."
    )
    return f"{note}\n\n{table([*counts, *wrong], [[number(part[name]) for name in (*counts, *wrong)]])}"
