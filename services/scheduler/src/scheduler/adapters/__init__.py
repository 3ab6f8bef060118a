"""What the scheduler talks to, one module per technology."""
