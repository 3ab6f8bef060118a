"""The timeout of tests for expected events."""

PATIENCE_S = 28.0
"""No limit on speed, but below the ack wait of 30 s and the minute after which MongoDB aborts a transaction: an event
that is due to a redelivery, or to a server giving up, is a failure."""
