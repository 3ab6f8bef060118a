"""What services share of MongoDB and of the NATS object store."""
