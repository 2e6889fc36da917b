"""`python -m tensorfill` is the same as `tensorfill`."""

from tensorfill.cli import main

main()
