"""The definition of a robot, its clock, and which events it wants."""
