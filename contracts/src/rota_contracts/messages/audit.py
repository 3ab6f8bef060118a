"""The audit trail: who changed what through the API, with which key."""

from pydantic import Field

from rota_contracts.model import Instant, Payload

UNKNOWN_STATUS = 0


class AuditRecordedV1(Payload):
    """Published when a person or a program has changed something through the API.

    Values of settings and secrets are never in it.
    `member_id` is the robot that was changed, else `_all_`; `team_id` is `_all_` for what concerns no single team.
    """

    audit_id: str
    at: Instant
    by: str = Field(description="the id of the key or, for a link, of the member; or `administrator`")
    by_name: str = Field(default="", description="the name of the key or the member")
    role: str = Field(default="", description="the role of the key or the member")
    action: str = Field(description="the operation of the API: create_robot, delete_key …")
    on: dict[str, str] = Field(default={}, description="names of what was changed, and of the fields that were given")
    status: int = Field(
        default=UNKNOWN_STATUS, description="the HTTP status of the answer; 0: it is unknown whether it was done"
    )
    request_id: str = ""
    address: str = Field(default="", description="the address of the request")
