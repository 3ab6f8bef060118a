"""How long tests wait for what must come."""

PATIENCE_S = 28.0
"""Says nothing of speed, but is below the ack wait of 30 s and the minute after which MongoDB gives a transaction up:
what comes only because a message came again, or a server gave up, is a failure."""
