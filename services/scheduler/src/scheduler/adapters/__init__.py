"""The scheduler's adapters, one module per port and technology."""
