"""The plan queue: its changes by people, and the start of what is due."""
