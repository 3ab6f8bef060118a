"""The checks of `rota doctor` on streams and buckets: how full they are, and whether they are as declared."""

from nats.js import JetStreamContext

from rota.findings import Finding, Level
from rota_common.bus.stream_usage import PARTS, Usage, read_usage
from rota_common.nats_admin.compare_topology import differences
from rota_common.topology import find_stream

ENLARGE = "give it more room: python -m rota_common.topology --scale 2; or find out what isn't taken: rota dead list"
APPLY = "run python -m rota_common.topology, on a cluster with --replicas 3"


async def check_streams(jetstream: JetStreamContext) -> list[Finding]:
    infos = {name: await find_stream(jetstream, name) for _, name, _, _ in PARTS}
    wrong = differences({name: info.config for name, info in infos.items() if info is not None})
    found = [Finding("topology", Level.MISSING, line, APPLY) for line in wrong]
    if not wrong:
        found.append(Finding("topology", Level.OK, "streams and buckets are as declared"))
    return found + [_filled(usage) for usage in await read_usage(jetstream)]


def _filled(usage: Usage) -> Finding:
    if not usage.nearly_full:
        return Finding(usage.part, Level.OK, str(usage))
    problem = "new work is refused" if usage.needed else "it refuses when it is full"
    return Finding(usage.part, Level.MISSING if usage.needed else Level.NOTE, f"{usage}: {problem}", ENLARGE)
