"""The library of all services: the bus, the failure policy, logs, metrics, health."""
