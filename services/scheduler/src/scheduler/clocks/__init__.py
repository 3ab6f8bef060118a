"""The clocks of robots: kept in step with their definitions, and their due runs queued."""
