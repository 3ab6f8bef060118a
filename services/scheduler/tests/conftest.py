"""Fixtures of the scheduler in memory."""

from services.scheduler.tests.fixtures import harness

__all__ = ["harness"]
