"""Behind the command line. With cli.py and bench/cli.py the only importers of typer and rich."""
