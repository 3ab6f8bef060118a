"""Attempts to talk robots into what they may not do, played against a model that obeys everything it reads."""
