"""The check of a robot's `delivery.schema`, as the gateway makes it."""

from rota.errors import CliError
from rota.kinds import Definition
from rota_contracts.robots.robot import RobotDefinition


def check_result_schema(definition: Definition) -> None:
    """CliError for a schema that can't be used. Without the extra `server` nothing is checked here: `apply` answers
    the same."""
    if not isinstance(definition, RobotDefinition):
        return
    schema = definition.robot_config.delivery.result_schema
    if schema is None:
        return
    try:
        from rota_common.json_schema import UnusableSchema, check_schema
    except ModuleNotFoundError:
        return
    try:
        check_schema(schema)
    except UnusableSchema as error:
        raise CliError(
            f"{definition.member_id} is not a valid robot definition:",
            hint="docs/webhooks.md says what a schema may hold",
            details=[f"robot_config.delivery.schema: {error}"],
        ) from error
