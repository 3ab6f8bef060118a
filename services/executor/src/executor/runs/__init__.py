"""Runs: started, worked on, signalled, watched, and removed."""
