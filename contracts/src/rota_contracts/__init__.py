"""The messages of Rota. Depends on pydantic alone, so that an outside program can install it by itself."""
