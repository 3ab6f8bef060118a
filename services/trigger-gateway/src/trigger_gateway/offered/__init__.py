"""A team's public agents and startable robots, for programs outside: by the Model Context Protocol and by A2A."""
