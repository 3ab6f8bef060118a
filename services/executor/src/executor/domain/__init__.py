"""The domain: runs, their steps and outcomes. Pure: no I/O, no clock."""
