"""Stores: MongoDB and the NATS object store, as the services share them."""
