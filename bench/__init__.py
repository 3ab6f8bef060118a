"""Benchmarks: what Rota costs beside the bare parts it is made of, measured in one run."""
