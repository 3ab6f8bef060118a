"""The steps that a worker carries out itself."""
