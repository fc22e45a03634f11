# The tests run on what a user installs: the sdist is built, the wheel is built from the sdist, and the wheel goes into
# environments that cannot see the source tree. The wheel is built once and shared by every target.
#
# make check     ruff, mypy, clang-format, and the rules that every file keeps (tests/checks). It needs no wheel.
# make test      the gate, under twelve minutes on two cores from a fresh clone: every test that is not marked slow, and
#                the core install without extras (tests/minimal). Of other people's programs, the cluster, kills and
#                faults, damaged files, pages, notebooks, benchmarks and experiments it runs what shows that they work.
# make test-all  every test, the slow ones too: all programs, pages, notebooks, kills, benchmarks and experiments.
# make crash, make fuzz and make sanitize go on for longer than any test.

PYTHON ?= python3
VENV ?= .venv
MINIMAL ?= .venv-minimal
DEVELOP ?= .venv-develop
EXTERNAL ?= .venv-external
BUILD ?= .venv-build
BIN := $(VENV)/bin
# Modules are compiled when they are first imported: most of those that are installed never are.
INSTALL := -m pip --quiet install --no-compile
WHEEL := $$(echo dist/*.whl)
SDIST := $$(echo dist/*.tar.gz)
LISTS := build/requirements
# This release of PyTorch: any that the extra would choose by itself may bring gigabytes for GPUs.
TORCH := torch==2.13.0
CPP := $(shell find cpp tests/native -name '*.cpp' -o -name '*.hpp')
SOURCES := CMakeLists.txt pyproject.toml README.md LICENSE \
  $(shell find cpp src -type f ! -name '.*' ! -name '*.so' ! -path '*/__pycache__/*' | sort)
BENCHMARKS := floor courtyard memory growth peers splat_build splat_trace volumes actors dataset streaming cluster grassland tiles render learned labelling drive view build perception
EXPERIMENTS := a_table1 a_figure1 a_transfer a_mobile a_reality b_figure3 b_figure5 b_figure7 b_figure8 b_figure10 c_heldout c_losses c_poses c_refine c_semantics c_sparse c_tables d_boxes d_cars d_confidence d_hidden_car d_intensity d_judge d_motion d_objects d_openset d_raydrop d_realism d_search d_shift d_tables d_transfer kitti_sensor

# Test files go to the workers as a whole, since their fixtures are costly, the longest first (tests/conftest.py).
PARALLEL := -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder
# One thread in each worker, in the native core and in BLAS, or workers would wait for each other.
THREADS := RESWEEP_TEST_THREADS=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
TEST := $(THREADS) RESWEEP_WHEEL="$(WHEEL)" RESWEEP_SDIST="$(SDIST)" RESWEEP_EXTERNAL="$(CURDIR)/$(EXTERNAL)/bin/python" $(BIN)/python -m pytest

# make test COVERAGE=1 measures the lines of the installed package that the tests run. It takes about a quarter more
# processor time, and less from Python 3.12 on, which can count without slowing every line.
ifdef COVERAGE
COVERED = COVERAGE_CORE=$$($(BIN)/python -c 'import sys; print("sysmon" if sys.version_info >= (3, 12) else "ctrace")')
COVER := --cov=resweep --cov-report=
SHOW_COVERAGE = @echo "coverage: $$($(BIN)/coverage report --format=total) % of the lines of the installed package"
endif

# A PYTHONPATH of the shell could put the source tree before the installed package. What is compiled must be kept.
unexport PYTHONPATH
unexport PYTHONDONTWRITEBYTECODE
# One compiler cache for every clone: paths below this folder are hashed as relative ones.
CCACHE := $(shell command -v ccache 2>/dev/null)
ifneq ($(CCACHE),)
export CMAKE_CXX_COMPILER_LAUNCHER ?= $(CCACHE)
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1
endif

.DEFAULT_GOAL := help
ifndef AT_ONCE
.NOTPARALLEL:
endif
.PHONY: help demo install wheel environments test gate minimal test-all check format stubs develop bench experiments docs fuzz crash sanitize clean FORCE

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.viewer ## install into .venv, record a drive, build its world, sweep it again, compare
	$(BIN)/resweep demo -o demo-output

install: $(VENV)/.installed ## install into .venv

wheel: build/wheel.stamp ## build the sdist, and the wheel from it, into dist

# Packages are fetched and unpacked while the compiler runs; the wheel goes in when all of that is done.
environments: ## all that make test needs: the wheel, and three environments beside each other
	$(MAKE) --no-print-directory -j4 AT_ONCE=1 build/wheel.stamp $(VENV)/.dev $(MINIMAL)/.core $(EXTERNAL)/.installed
	$(MAKE) --no-print-directory $(VENV)/.installed $(MINIMAL)/.installed

test: environments ## test the built wheel, and its core install without any extra: the gate
	$(MAKE) --no-print-directory -j2 AT_ONCE=1 gate minimal
	$(SHOW_COVERAGE)

gate:
	$(COVERED) $(TEST) -m "not slow" --durations=40 $(PARALLEL) $(COVER)

# The core install has no pytest-xdist, so that its tests run beside the others.
minimal:
	$(THREADS) RESWEEP_MINIMAL=1 $(MINIMAL)/bin/python -m pytest -p no:cacheprovider tests/minimal

test-all: environments $(VENV)/.bench ## test the built wheel with the slow tests too
	$(TEST) --durations=40 $(PARALLEL)
	$(MAKE) --no-print-directory minimal

check: $(VENV)/.dev ## run the linters, the type checker and the rules of every file
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m tests.checks
	$(BIN)/clang-format --dry-run --Werror $(CPP)

format: $(VENV)/.dev ## fix what the linters can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP)

stubs: $(VENV)/.installed $(VENV)/.dev ## write the types of the native core anew, after a change of its bindings
	$(BIN)/python -m nanobind.stubgen -m resweep._core -o src/resweep/_core.pyi

develop: ## install the sources in place into .venv-develop; again after a change of cpp
	test -x $(DEVELOP)/bin/python || $(PYTHON) -m venv --upgrade-deps $(DEVELOP)
	$(PYTHON) .ci/requirements.py $(LISTS)/develop.txt build
	$(DEVELOP)/bin/python $(INSTALL) -r $(LISTS)/develop.txt
	$(DEVELOP)/bin/python $(INSTALL) --no-build-isolation -e ".[dev]"

bench: $(VENV)/.installed $(VENV)/.bench ## print the speed and memory figures
	set -e; for name in $(BENCHMARKS); do $(BIN)/python -m benchmarks.$$name --json; done

experiments: $(VENV)/.installed $(VENV)/.dev ## print the papers' tables and figures
	set -e; for name in $(EXPERIMENTS); do $(BIN)/python -m experiments.$$name --json; done

docs: $(VENV)/.installed $(VENV)/.docs ## build the documentation into site, without network
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "open site/index.html; it needs no server"

fuzz: $(VENV)/.installed $(VENV)/.dev ## feed every reader thousands of damaged files; FUZZ="--seed 2 --json" for others
	$(BIN)/python -m tests.fuzz $(FUZZ)

crash: $(VENV)/.installed $(VENV)/.dev ## kill, double and disturb every command that writes; CRASH="--verb build --moments 100" for others
	$(BIN)/python -m tests.crash $(or $(CRASH),--moments 100 --pairs 4 --faults)

sanitize: $(VENV)/.installed $(VENV)/.dev ## run the native tests under the address, undefined-behaviour and thread sanitizers
	$(BIN)/python tests/native/sanitize.py

clean: ## remove all that make has made
	rm -rf $(VENV) $(MINIMAL) $(DEVELOP) $(EXTERNAL) $(BUILD) build dist demo-output out site .coverage

# The list of sources changes when a file comes or goes, which no file's time would show.
build/sources.list: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' $(SOURCES) | cmp -s - $@ || printf '%s\n' $(SOURCES) > $@

# The sdist keeps the files' times, so that the native build, which outlives it, compiles only what changed.
build/wheel.stamp: build/sources.list $(SOURCES) $(BUILD)/.tools
	rm -rf dist build/source
	MAKEFLAGS= $(BUILD)/bin/python -m build --no-isolation --sdist --outdir dist -C sdist.reproducible=false .
	mkdir -p build/source
	tar -xzf $(SDIST) -C build/source --strip-components=1
	MAKEFLAGS= $(BUILD)/bin/python -m build --no-isolation --wheel --outdir dist -C "build-dir=$(CURDIR)/build/native/{wheel_tag}" build/source
	touch $@

# An environment is made again only if the list of what it needs changed: its stamp is the list it was made from.
define installed_from
	test -x $(@D)/bin/python || $(PYTHON) -m venv --upgrade-deps $(@D)
	cmp -s $< $@ || $(@D)/bin/python $(INSTALL) -r $<
	cp $< $@
endef

# The lists change with pyproject.toml, but not with every change of it.
$(LISTS)/build.txt: FORCE
	@$(PYTHON) .ci/requirements.py $@ build
$(LISTS)/core.txt: FORCE
	@$(PYTHON) .ci/requirements.py $@ core
$(LISTS)/minimal.txt: FORCE
	@$(PYTHON) .ci/requirements.py $@ core "pytest>=8"
$(LISTS)/dev.txt: FORCE
	@$(PYTHON) .ci/requirements.py $@ core dev learn $(TORCH)
$(LISTS)/bench.txt: FORCE
	@$(PYTHON) .ci/requirements.py $@ core bench
$(LISTS)/docs.txt: FORCE
	@$(PYTHON) .ci/requirements.py $@ core docs
$(LISTS)/viewer.txt: FORCE
	@$(PYTHON) .ci/requirements.py $@ core viewer
$(LISTS)/external.txt: tests/external/requirements.txt tests/external/without-dependencies.txt
	@mkdir -p $(@D)
	cat $^ > $@

$(BUILD)/.tools: $(LISTS)/build.txt
	$(installed_from)

$(VENV)/.core: $(LISTS)/core.txt
	$(installed_from)

# The linters need no wheel. What is installed into one environment is installed one after the other.
$(VENV)/.dev: $(LISTS)/dev.txt | $(VENV)/.core
	$(installed_from)

$(VENV)/.bench: $(LISTS)/bench.txt | $(VENV)/.dev
	$(installed_from)

$(VENV)/.docs: $(LISTS)/docs.txt | $(VENV)/.core
	$(installed_from)

# What the demo says to type next opens in the browser.
$(VENV)/.viewer: $(LISTS)/viewer.txt | $(VENV)/.installed
	$(installed_from)

$(MINIMAL)/.core: $(LISTS)/minimal.txt
	$(installed_from)

# What `pip install resweep` gives; the version does not change with each wheel, so pip must be told to replace it.
$(VENV)/.installed $(MINIMAL)/.installed: %/.installed: build/wheel.stamp %/.core
	$*/bin/python $(INSTALL) --force-reinstall --no-deps "$(WHEEL)"
	touch $@

# The field's own programs, which open what we write. Resweep itself is not in there.
$(EXTERNAL)/.installed: $(LISTS)/external.txt
	test -x $(@D)/bin/python || $(PYTHON) -m venv --upgrade-deps $(@D)
	cmp -s $< $@ || $(@D)/bin/python $(INSTALL) -r tests/external/requirements.txt
	cmp -s $< $@ || $(@D)/bin/python $(INSTALL) --no-deps -r tests/external/without-dependencies.txt
	cp $< $@
