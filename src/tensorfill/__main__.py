"""`python -m tensorfill` is the same as `tensorfill`."""

from tensorfill.cli.main import main

main()
