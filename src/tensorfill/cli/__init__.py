"""The command line. With bench/cli.py the only importer of typer and rich."""
