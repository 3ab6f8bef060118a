"""Secrets of teams: set, listed and removed by a team, given by the operator, read by what uses them."""
