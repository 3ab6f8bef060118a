"""The executor: runs an execution through its phases. The only service that holds model keys."""
