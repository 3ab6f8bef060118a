"""The dispatcher, the parts of its turns, and the capacity it fills."""
