"""Runs on request: triggers by hand, interventions, pause, resume and stop."""
