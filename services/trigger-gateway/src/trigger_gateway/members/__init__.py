"""Members who are people: they manage robots, and are told about them."""
