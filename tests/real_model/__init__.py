"""Rota on a model that wasn't written by us: how many plain requests of a person it answers, beside the bare model."""
