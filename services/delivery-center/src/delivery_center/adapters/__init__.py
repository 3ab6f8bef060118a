"""The channels and the store, each named after its technology."""
