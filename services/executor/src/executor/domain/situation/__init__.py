"""The situation of a robot, as its agents read it."""
