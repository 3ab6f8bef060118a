"""A year of a thousand robots' clocks in minutes: a real scheduler, a virtual clock, and an independent oracle."""
