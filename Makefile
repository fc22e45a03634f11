# make demo   install and run the main job           make test      install and run the tests
# make check  linters and types                      make test-all  the slow tests too
# make bench  the speed and memory figures           make experiments  the papers' tables and figures

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SOURCES := CMakeLists.txt pyproject.toml $(wildcard cpp/*)
CPP := $(wildcard cpp/*.cpp cpp/*.hpp)
BENCHMARKS := floor courtyard memory growth peers splat_build splat_trace volumes actors dataset
EXPERIMENTS := a_table1 a_figure1 a_transfer a_mobile a_reality b_figure3 b_figure5 b_figure7 b_figure8 c_losses c_tables d_motion d_objects

.PHONY: demo install test test-all check format stubs bench experiments clean

demo: $(VENV)/.installed
	$(BIN)/resweep demo -o demo-output

install: $(VENV)/.installed

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.installed: $(BIN)/python $(SOURCES)
	$(BIN)/python -m pip install --quiet .
	touch $@

# Developers work on the sources in place; the native core is rebuilt when they change.
$(VENV)/.developing: $(BIN)/python $(SOURCES)
	$(BIN)/python -m pip install --quiet "scikit-build-core>=0.10" "nanobind>=2.4" ninja cmake
	$(BIN)/python -m pip install --quiet --no-build-isolation -e ".[dev]"
	touch $@ $(VENV)/.installed

test: $(VENV)/.developing
	$(BIN)/python -m pytest -m "not slow" --durations=10

test-all: $(VENV)/.developing
	$(BIN)/python -m pip install --quiet "libusb-package>=1.0.26" "open3d-cpu>=0.18"
	$(BIN)/python -m pytest --durations=20

check: $(VENV)/.developing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(CPP)

format: $(VENV)/.developing
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP)

stubs: $(VENV)/.developing
	$(BIN)/python -m nanobind.stubgen -m resweep._core -o src/resweep/_core.pyi

bench: $(VENV)/.developing
	$(BIN)/python -m pip install --quiet "libusb-package>=1.0.26" "open3d-cpu>=0.18"
	set -e; for name in $(BENCHMARKS); do $(BIN)/python -m benchmarks.$$name --json; done

experiments: $(VENV)/.developing
	set -e; for name in $(EXPERIMENTS); do $(BIN)/python -m experiments.$$name --json; done

clean:
	rm -rf $(VENV) build dist demo-output out

# The native tests under the address, undefined-behaviour and thread sanitizers: some minutes.
.PHONY: sanitize
sanitize: $(VENV)/.developing
	$(BIN)/python tests/native/sanitize.py
