"""What every service shares: the bus, the failure policy, logs, metrics, health."""
