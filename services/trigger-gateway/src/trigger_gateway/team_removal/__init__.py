"""The removal of a team and of all that is kept of it."""
