"""The learner: turns a finished run into lessons for the next one."""
