"""The scheduler: decides whether and when a robot runs."""
