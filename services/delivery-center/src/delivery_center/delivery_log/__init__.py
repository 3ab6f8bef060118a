"""The delivery log: reading, listing and replaying deliveries."""
