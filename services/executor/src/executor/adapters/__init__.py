"""What the executor talks to, one module per technology."""
