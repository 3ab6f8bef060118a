"""Definitions that a service keeps in memory, followed by a loop of it."""

from rota_common.bus.definitions import TeamDefinitions
from rota_common.bus.known_robots import KnownRobots
from rota_common.runtime.service import Service


def followed_robots(service: Service) -> KnownRobots:
    """The robots' definitions from memory, kept current while the service runs."""
    robots = KnownRobots(service.bus)
    service.every(0, robots.keep_current, name="robots")
    return robots


def followed_definitions(service: Service) -> TeamDefinitions:
    """The definitions of teams, their current sets from memory, kept current while the service runs."""
    definitions = TeamDefinitions(service.bus)
    service.every(0, definitions.keep_current, name="definitions")
    return definitions
