"""The figures that an operator plans by, of the system of docker-compose.yml: `python -m bench.operations`."""
