"""Robots: their records, their health, and the routes from sources to them."""
