"""The address of a mail that comes from an event's data, by a rule of the robot's owner."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, StringConstraints

from rota_contracts.json_values import MISSING, at
from rota_contracts.model import Json, Part
from rota_contracts.robots.addresses import parse_address
from rota_contracts.robots.events import Path

LONGEST_ADDRESS = 320
"""Characters: what stands at a field and is longer is no address."""

Domain = Annotated[
    str,
    StringConstraints(
        strip_whitespace=True, to_lower=True, pattern=r"^(\*\.)?([A-Za-z0-9-]+\.)+[A-Za-z0-9-]+$", max_length=253
    ),
]


class EventAddress(Part):
    """The address that stands in the event's data at `field`, if it belongs to one of these domains. Senders of events
    choose it: name no domain in which they may not write to everybody."""

    field: Path = Field(description="where the address stands in the data: customer.email")
    domains: list[Domain] = Field(
        min_length=1,
        max_length=50,
        description="example.org, or *.example.org for all below it; no other is written to",
    )

    def in_data(self, data: Json) -> str | None:
        """What stands at the field; None if that can't be an address."""
        found = at(data, self.field)
        return found if found is not MISSING and isinstance(found, str) and len(found) <= LONGEST_ADDRESS else None

    def of(self, values: Mapping[str, str]) -> str:
        """The bare address among an event's `values`, by field. Raises ValueError if there is none that is allowed."""
        found = values.get(self.field)
        if found is None:
            raise ValueError(f"expected an address in the event at {self.field}, got none")
        address = parse_address(found)
        if not any(_covers(domain, address.domain.lower()) for domain in self.domains):
            allowed = ", ".join(self.domains)
            raise ValueError(f"expected an address of {allowed} in the event at {self.field}, got {address.domain}")
        return address.addr_spec


def _covers(domain: str, given: str) -> bool:
    return given.endswith(domain[1:]) if domain.startswith("*.") else given == domain
