"""One module per group of commands; each has a function that typer turns into a command."""
