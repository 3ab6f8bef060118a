"""Queries of runs: lists, steps, replays, summaries, permissions."""
