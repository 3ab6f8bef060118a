"""What an execution is, what must happen next in it, and what comes of what happens to it. Pure: no I/O, no clock."""
