"""The attack: damaged files, odd calls, kills, full disks, failing allocations, threads and forks, bare places.

`make attack` runs all of it, by default for 15 minutes, and prints a table; `tests/attack/test_attack.py` runs a short
part of each kind with every `make test`. One module per kind; everything follows from the seed.
"""
