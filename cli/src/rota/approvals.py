"""Approvals through the API: read, shown, and decided with the arguments that were shown."""

from urllib.parse import quote

from rota.client import Api, Json
from rota.timestamps import utc_text

PATH, PAGE_SIZE = "/approvals", 200


async def waiting(api: Api, filters: dict[str, str]) -> list[Json]:
    """All that wait, the oldest first."""
    found: list[Json] = []
    after = ""
    while True:
        page = await api.of_team("GET", PATH, params={**filters, "limit": PAGE_SIZE, "after": after})
        found += page["approvals"]
        if not (after := page["next"]):
            return found


async def read(api: Api, approval_id: str) -> Json:
    return await api.of_team("GET", _path(approval_id))


async def decide(api: Api, shown: Json, decision: str, note: str = "") -> Json:
    """Decide about exactly the arguments of `shown`."""
    body = {"decision": decision, "arguments_sha256": shown["arguments_sha256"], "note": note}
    return await api.of_team("POST", _path(shown["approval_id"]), json=body)


def question(approval: Json) -> str:
    """The call, as people are asked about it."""
    return f"[Approval Required]\nTool: {approval['tool']}\nArgs: {approval['arguments']}"


def facts(approval: Json) -> list[str]:
    """What else is known about it, a line each."""
    lines = [f"Robot: {approval['member_id']}", f"Execution: {approval['execution_id']}"]
    lines += [f"Why it waits: {approval['reason']}"] if approval.get("reason") else []
    lines += [f"Until: {utc_text(approval['expires_at'])}"]
    if approval.get("status", "pending") != "pending":
        by = f" by {approval['decided_by']}" if approval.get("decided_by") else ""
        lines += [f"Status: {approval['status']}{by}, {utc_text(approval.get('decided_at'))}".rstrip(", ")]
    return lines + ([f"Note: {approval['note']}"] if approval.get("note") else [])


def _path(approval_id: str) -> str:
    return f"{PATH}/{quote(approval_id, safe='')}"
