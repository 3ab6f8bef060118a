"""Answers of models: reasoning apart, calls in text, and what is left for a reader. Pure."""
