"""Commands for maintainers: export the schemas, check compatibility."""
