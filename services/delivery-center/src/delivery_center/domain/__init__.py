"""The rules of the service, with no I/O and no clock."""
