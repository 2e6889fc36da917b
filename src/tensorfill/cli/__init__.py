"""The command line. Only this folder imports typer and rich."""
