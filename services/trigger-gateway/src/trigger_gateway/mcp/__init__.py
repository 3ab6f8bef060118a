"""A team's agents and robots as tools of the Model Context Protocol, for programs outside."""
