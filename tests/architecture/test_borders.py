"""Some things are done in one place only. Each check says why."""

import ast
from collections.abc import Iterator

from tests.architecture.sources import Source, calls, dotted, imports, installed

SETTLING = ("ack", "ack_sync", "nak", "nack", "reject", "term", "in_progress")
SUBSCRIBING = ("subscriber", "subscribe", "pull_subscribe", "pull_subscribe_bind")
PUBLISHING = ("publish", "publish_async")
CONNECTIONS = ("bus", "broker", "client", "connection", "jetstream", "js", "nats", "nc")
"""What a connection to NATS is called; a port may have a `publish` of its own."""
CLOCKS = ("datetime.now", "datetime.utcnow", "datetime.today", "date.today", "time.time", "time.time_ns")

BUS = "libs/common/src/rota_common/"
CLI = "cli/src/rota/"
ELSEWHERE: dict[tuple[str, str], str] = {
    (f"{CLI}demo/", "subscribe"): "plays a program outside, which sees what any feed client sees",
    (f"{CLI}timestamps.py", "now"): "a command speaks of its user's clock",
    (f"{BUS}testing/", "ack"): "the server in memory, at the other end of what the failure policy decides",
    (f"{BUS}testing/", "now"): "a bus in memory stamps its messages as a server does",
}
"""(folder, what it calls) → why it may."""


def excepted(source: Source, called: str) -> bool:
    return any(source.name.startswith(folder) and called.endswith(name) for folder, name in ELSEWHERE)


def uses(names: tuple[str, ...], *, outside: tuple[str, ...]) -> list[str]:
    return [
        f"{source.name}:{line}: {called}()"
        for source in installed()
        if not source.name.startswith(outside)
        for line, called in calls(source)
        if "." in called and called.rsplit(".", 1)[1] in names
        if not excepted(source, called)
    ]


def test_only_the_failure_policy_settles_messages() -> None:
    found = uses(SETTLING, outside=(f"{BUS}bus/failure_policy.py",))
    assert not found, (
        "only rota_common.bus.failure_policy acknowledges, returns and buries messages, so that one file decides about "
        "failures: raise Transient or Permanent instead\n" + "\n".join(found)
    )


def test_only_the_shared_library_subscribes() -> None:
    found = uses(SUBSCRIBING, outside=(BUS,))
    assert not found, (
        "subscriptions made elsewhere miss the failure policy and the check against the catalog: "
        "use router.on, router.answer or what rota_common offers\n" + "\n".join(found)
    )


def _receiver(use: str) -> str:
    """`client` of `….client.publish()`."""
    return use.rsplit(" ", 1)[1].split(".")[-2]


def test_only_the_shared_library_publishes() -> None:
    found = [line for line in uses(PUBLISHING, outside=(BUS,)) if _receiver(line).strip("_") in CONNECTIONS]
    assert not found, (
        "messages published elsewhere have no derived id and no check against the catalog: "
        "use rota_common.bus.publishing.Publish\n" + "\n".join(found)
    )


def test_only_the_clock_asks_the_machine_for_the_time() -> None:
    allowed = ("clock.py", "app.py", "__main__.py")
    found = [
        f"{source.name}:{line}: {called}()"
        for source in installed()
        if not source.name.endswith(allowed)
        for line, called in calls(source)
        if called.endswith(CLOCKS) and not excepted(source, called)
    ]
    assert not found, (
        "a test can't set the machine's clock: take a `Clock` (rota_common.clock) as an argument; for durations use "
        "time.perf_counter or time.monotonic\n" + "\n".join(found)
    )


def _at_import(node: ast.AST) -> Iterator[ast.Call]:
    """The calls that happen while a module is imported."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        if isinstance(child, ast.If) and "__name__" in ast.dump(child.test):
            continue
        if isinstance(child, ast.Call):
            yield child
        yield from _at_import(child)


def test_settings_are_not_built_while_a_module_is_imported() -> None:
    found = [
        f"{source.name}:{call.lineno}"
        for source in installed()
        for call in _at_import(source.tree)
        if dotted(call.func).endswith("Settings")
    ]
    assert not found, (
        "settings read at import make every test need an environment: build them in a function of __main__ or app "
        "and pass them on\n" + "\n".join(found)
    )


EDGE = ("__main__", "app", "handlers")


def test_use_cases_know_no_adapter() -> None:
    found = [
        f"{source.name}:{line}: {name}"
        for source in installed()
        if source.name.startswith("services/") and "/adapters/" not in source.name and source.stem not in EDGE
        for line, name in imports(source)
        if f"{name}.".startswith(tuple(f"{source.package}.{edge}." for edge in (*EDGE, "adapters")))
    ]
    assert not found, (
        "a use case states what it needs as a port (ports.py); app.py passes the adapter, and tests pass another\n"
        + "\n".join(found)
    )


def test_every_exception_is_still_needed() -> None:
    needed = {
        (folder, name)
        for folder, name in ELSEWHERE
        for source in installed()
        if source.name.startswith(folder) and any(called.endswith(f".{name}") for _, called in calls(source))
    }
    assert not set(ELSEWHERE) - needed, "take off ELSEWHERE what no longer happens"


def test_the_checks_see_what_they_look_for() -> None:
    text = "await message.ack()\nself.broker.subscriber('x')\ndatetime.now()\n"
    source = Source("x.py", "x", ast.parse(text), text)
    assert {name for _, name in calls(source)} == {"message.ack", "self.broker.subscriber", "datetime.now"}
