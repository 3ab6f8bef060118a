"""A year of a thousand clocks in minutes: a real scheduler, a virtual clock, and an independent oracle that counts."""
