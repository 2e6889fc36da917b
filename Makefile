# Two commands do everything from a fresh clone:  make run   make test
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: run test lint types bench paper attack bounds lock lowest docs gallery app-pictures clean

run: $(VENV)/.run           ## complete a photograph with 80 % of its voxels missing
	$(BIN)/tensorfill demo -o out/demo.png

test: $(VENV)/.test lint types   ## everything that must hold
	$(BIN)/python -m pytest -n 2 --dist worksteal -q --durations=20

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test
	$(BIN)/mypy

bench: $(VENV)/.test        ## the speed figures, as ratios
	$(BIN)/tensorfill bench speed -o out/bench

paper: $(VENV)/.test        ## the paper's tables and figures beside print; goes on where it was stopped
	$(BIN)/tensorfill bench paper --images "$(IMAGES)" $(if $(OBSERVED),--observed "$(OBSERVED)") -o out/paper

attack: $(VENV)/.test       ## 15 minutes of damaged files, odd calls, kills, full disks; a table of what came of it
	OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m attack

bounds: $(VENV)/.test       ## the tests of compiled loops, with every index checked
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=out/bounds $(BIN)/python -m pytest -q tests/kernels tests/interelement tests/solvers/test_gibbs.py

lock: $(VENV)/.test         ## the versions installed here become those that are tested: constraints.txt, docs/dependencies.md
	$(BIN)/python docs/dependencies.py

lowest:                     ## tests of the core with the lowest versions that pyproject.toml declares
	$(PYTHON) -m venv out/lowest
	out/lowest/bin/python -m pip install --quiet --upgrade pip packaging
	out/lowest/bin/python docs/dependencies.py --lowest > out/lowest.txt
	out/lowest/bin/python -m pip install --quiet -c out/lowest.txt -e . pytest hypothesis
	out/lowest/bin/python -m pytest -q -W ignore::DeprecationWarning -W ignore::FutureWarning \
	  tests/test_problem.py tests/cli/test_cli_numbers.py tests/transforms/test_table.py

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

$(VENV)/.test: pyproject.toml benchmarks/pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[test]' -e ./benchmarks || { \
	  echo "the versions of constraints.txt do not install here; the newest are taken"; \
	  $(BIN)/python -m pip install --quiet -e '.[test]' -e ./benchmarks; }
	@touch $@ $(VENV)/.run

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e '.[docs]'
	@touch $@

clean:
	rm -rf $(VENV) out site .pytest_cache .mypy_cache .ruff_cache
