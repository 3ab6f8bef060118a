"""Spending: what calls of models take, and the ceilings of runs, robots and teams."""
