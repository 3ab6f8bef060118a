"""The sections of prompts: one small pure function each, put in order by `prompts`."""
