"""The command line. Only this folder, bench/cli*.py and bench/console.py import typer and rich."""
