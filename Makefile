# Two commands do everything from a fresh clone:  make run   make test
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: run test lint types bench docs clean

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

docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict

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
