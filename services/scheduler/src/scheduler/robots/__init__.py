"""The robots as the scheduler knows them: their definitions, their states, and their removal."""
