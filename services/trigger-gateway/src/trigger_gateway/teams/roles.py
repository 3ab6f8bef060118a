"""Permissions of roles: one table, by the names of the team's routes."""

from collections.abc import Mapping

from rota_contracts.roles import Role

ALLOWED: Mapping[Role, tuple[str, ...]] = {
    Role.VIEWER: (
        *("list_robots", "read_robot", "read_robot_status", "read_robot_problems", "read_next_runs", "check_clock"),
        *("list_robot_revisions", "read_robot_revision"),
        *(
            "list_executions",
            "read_execution",
            "read_trail",
            "read_trace",
            "read_spend",
            "list_quarantine",
            "read_quarantined",
            "read_delivery",
            "read_trigger",
            "read_event",
            "follow",
        ),
        *("list_plans", "list_sources", "read_source", "read_source_log", "list_keys", "list_subscriptions"),
        *(
            "list_deliveries",
            "read_delivery_request",
            "read_delivery_body",
            "list_targets",
            "list_suppressions",
            "list_attachments",
            "get_attachment",
        ),
        *("list_files", "read_file", "list_lessons", "list_approvals", "read_approval"),
        *("list_agents", "list_providers", "list_calls"),
        *("list_definitions", "read_definition", "list_revisions", "read_definitions_seen"),
        *("read_canary", "read_robot_canary"),
        *("read_agent_card", "mcp"),  # a tool of it needs the role of its route
        "list_secrets",  # their names
    ),
    Role.MEMBER: (
        *("trigger", "call_agent", "intervene", "replay_execution", "retry_execution", "retry_executions", "search"),
        "a2a",
        "test_connector",  # it costs money, as runs do
        *("abort_call", "abort_calls"),
        *("pause_execution", "resume_execution", "stop_execution"),
        *("replay_delivery", "replay_deliveries", "retry_delivery", "retry_deliveries"),
        *("list_members", "read_member"),
        *("put_attachment", "delete_attachment", "write_file", "delete_file"),
        # a person's own; others' are an admin's: members/person_of.py
        *("list_agent_files", "read_agent_file", "write_agent_file", "delete_agent_file"),
        *("subscribe", "unsubscribe"),  # under the key's own name; others' are an admin's: http/subscriptions.py
    ),
    Role.ADMIN: (
        *("create_robot", "replace_robot", "change_robot", "delete_robot", "roll_back_robot"),
        *("pause_robot", "resume_robot", "stop_robot", "pause_team", "resume_team", "stop_team"),
        *("create_source", "change_source", "delete_source", "put_secret", "delete_secret"),
        *("create_member", "change_member", "delete_member"),
        *("decide_approval", "release_quarantined", "drop_quarantined"),
        *("enable_target", "disable_target", "suppress", "unsuppress"),
        *("put_entry", "put_entries", "remove_entry", "remove_collection", "read_audit"),
        *("forget_lesson", "forget_lessons"),
        *("apply_definitions", "delete_definition", "roll_back_definition"),
        *("change_canary", "promote_canary", "abort_canary"),
        *("change_robot_canary", "promote_robot_canary", "abort_robot_canary"),
    ),
    Role.OWNER: ("create_key", "delete_key"),
}

_NEEDED = {name: role for role, names in ALLOWED.items() for name in names}


def needed(route: str) -> Role:
    """The least role that may use a route of a team. Raise ValueError for a route that isn't in the table."""
    if route not in _NEEDED:
        raise ValueError(f"expected the route {route} in the table of permissions: add it to {__name__}")
    return _NEEDED[route]
