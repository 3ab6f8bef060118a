"""A kit for tests: real servers, seeded chaos, and a look at what is on the bus."""
