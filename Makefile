# Two commands do everything from a fresh clone:  make run   make test
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: run test lint types bench attack bounds docs gallery app-pictures clean

run: $(VENV)/.run           ## complete a photograph with 80 % of its voxels missing
	$(BIN)/tensorfill demo -o out/demo.png

test: $(VENV)/.test lint types   ## everything that must hold
	$(BIN)/python -m pytest -n 2 --dist worksteal -q

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test
	$(BIN)/mypy

bench: $(VENV)/.test        ## the speed figures, as ratios
	$(BIN)/tensorfill bench speed -o out/bench

attack: $(VENV)/.test       ## 15 minutes of damaged files, odd calls, kills, full disks; a table of what came of it
	OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m attack

bounds: $(VENV)/.test       ## the tests of compiled loops, with every index checked
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=out/bounds $(BIN)/python -m pytest -q tests/kernels tests/interelement tests/solvers/test_gibbs.py

docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict

gallery: $(VENV)/.test      ## the pictures and figures of README, docs/index.md and docs/gallery.md, and the notebooks
	$(BIN)/python examples/make_gallery.py $(NAMES)

app-pictures: $(VENV)/.test ## docs/app-*.png, taken of the page in Chromium
	$(BIN)/python docs/app_pictures.py

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.run: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e .
	@touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e '.[test,bench]'
	@touch $@ $(VENV)/.run

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e '.[docs]'
	@touch $@

clean:
	rm -rf $(VENV) out site .pytest_cache .mypy_cache .ruff_cache
