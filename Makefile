# make demo    set up and watch a small model fail, then read why
# make test    set up and run all tests
# make lint    style; make types: types of the part without torch
# make docs    build the documentation into site/, warnings as errors
# make dist    wheel and sdist into dist/
# make clean   remove the environment and caches

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
TESTS ?=

# Small tensors: more threads than cores only get in each other's way.
export OMP_NUM_THREADS ?= 2
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: demo test lint types docs dist install clean

demo: $(INSTALLED)
	$(BIN)/neuraldbg demo

test: $(INSTALLED)
	$(BIN)/python -m pytest $(TESTS)

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check src tests

types: $(INSTALLED)
	$(BIN)/mypy src/neuraldbg

docs: $(INSTALLED)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

dist: $(INSTALLED)
	$(BIN)/hatchling build

install: $(INSTALLED)

# Some systems ship venv without ensurepip: then the pip of the system installs into the new environment.
$(INSTALLED): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || $(PYTHON) -m venv --clear --without-pip $(VENV)
	if $(BIN)/python -m pip --version >/dev/null 2>&1; then pip="$(BIN)/python -m pip"; \
	else pip="$(PYTHON) -m pip --python $(BIN)/python"; fi; \
	$$pip install --quiet --constraint constraints.txt --editable '.[torch,dev,docs,integrations,reports,snapshots,live]'
	touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
