"""Members who are people: they manage robots, and get notices about them."""
