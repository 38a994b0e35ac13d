# Each target sets up what it needs, once: a virtual environment in .venv with parkade in it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help reproduce findings trained test stress prepared checked compiled lowest fuzz parity browser \
  system-browser firefox docs docstest wheel dist wasm page bench clean

help: ## show the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-10s %s\n", $$1, $$2}'

# Bytecode is written when a module is first imported, not for all of them when they are installed.
# Without it, each of the hundreds of processes that the tests start would be slower.
unexport PYTHONDONTWRITEBYTECODE
OPTIONS = --quiet --no-compile --disable-pip-version-check
# uv takes a quarter of pip's CPU time. It does not read pip's settings, such as another index: where it
# is missing or fails, pip installs.
install = $(BIN)/uv pip install --quiet --python $(BIN)/python $(1) || $(BIN)/python -m pip install $(OPTIONS) $(1)

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("parkade needs Python 3.11 or newer, this is " + sys.version.split()[0] + "; say make PYTHON=python3.12") if sys.version_info < (3, 11) else None'
	@# Today's pip, which takes half of the CPU of the one that comes with Python 3.11; or else that one.
	$(PYTHON) -m venv --without-pip $(VENV)
	$(PYTHON) -m pip --python $@ install $(OPTIONS) pip uv || $(PYTHON) -m venv $(VENV)

$(VENV)/parkade: pyproject.toml | $(BIN)/python
	$(call install,--editable .)
	@touch $@

# `make test` compiles the engines meanwhile, so what compiles them stays as it is.
$(VENV)/test: pyproject.toml | $(VENV)/parkade
	$(BIN)/python -c 'from importlib.metadata import version; \
	  print(*(f"{name}=={version(name)}" for name in ("llvmlite", "numba", "numpy", "scipy")), sep="\n")' >$(VENV)/compilers
	@# What '.[test]' means, without building parkade once more.
	$(BIN)/python -c 'import tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	  print(*project["optional-dependencies"]["test"], sep="\n")' >$(VENV)/needed
	$(call install,--constraint $(VENV)/compilers --requirement $(VENV)/needed)
	@touch $@

reproduce: $(VENV)/parkade ## run the paper's simulations and draw its figures into results/
	$(BIN)/parkade reproduce all --output results

findings: $(VENV)/parkade ## our own findings in full: 1000 lives for each β, and 100 proved ones, up to an hour; resumable
	$(BIN)/parkade reproduce findings --runs 1000 --output results

$(VENV)/models: $(VENV)/parkade
	$(call install,--editable '.[trained]')
	@touch $@

trained: $(VENV)/models ## measure four trained models (300 MB to fetch) into results/trained/
	for model in stories15M SmolLM2-135M MiniLM-L6; do \
	  $(BIN)/parkade trained --get $$model && $(BIN)/parkade trained $$model --iterate 400 \
	    --ablate no-mlp --ablate random-mlp --ablate random-values -o results/trained/$$model || exit 1; \
	done
	for model in stories15M SmolLM2-135M; do \
	  $(BIN)/parkade meaning $$model -o results/trained/$$model && \
	  $(BIN)/parkade context $$model -o results/trained/$$model || exit 1; \
	done
	$(BIN)/parkade trained --get ALBERT-rxn
	$(BIN)/parkade trained ALBERT-rxn --iterate 3000 --ablate no-mlp --ablate random-mlp \
	  --ablate random-values -o results/trained/ALBERT-rxn
	$(BIN)/parkade verify --paper trained -o results/trained/claims
	$(BIN)/python -m parkade.experiments.trained.summary results/trained

RUN_TESTS = $(BIN)/pytest -n auto --dist worksteal
test: prepared ## linters, types and every test, in random order; PARKADE_ORDER=SEED repeats one
	$(RUN_TESTS)

stress: prepared ## the same beside a load of twice the cores
	$(BIN)/python tests/load.py $(RUN_TESTS)

# Side by side: a browser from the system, compiling, which needs nothing but parkade, and the rest.
prepared: $(BIN)/python
	$(MAKE) --no-print-directory --jobs 3 system-browser compiled checked
	@$(MAKE) --no-print-directory browser
	@$(MAKE) --no-print-directory lowest

compiled: $(VENV)/parkade
	$(BIN)/python tests/compile.py

# Tests are collected once, which writes bytecode that each worker would write again.
checked: $(VENV)/test
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/lint-imports && $(BIN)/mypy
	$(BIN)/pytest --collect-only --quiet >$(VENV)/collected || true

# In an environment of its own, with the lowest versions that pyproject.toml allows. Only uv chooses
# them: where it is missing, or does not reach an index, this is left out.
LOWEST := $(VENV)/lowest
$(LOWEST)/installed: pyproject.toml | $(BIN)/python
	rm -rf $(LOWEST) && $(PYTHON) -m venv --without-pip $(LOWEST)
	$(BIN)/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct \
	  --editable '.[cluster,explore,proof,trained]'
	@touch $@

lowest: $(BIN)/python ## try parkade at the lowest versions of other packages that it allows
	@if $(BIN)/uv pip install --quiet --dry-run --reinstall --no-deps --python $(BIN)/python rich; \
	then $(MAKE) --no-print-directory $(LOWEST)/installed && $(LOWEST)/bin/python tests/lowest.py; \
	else echo "the lowest versions are not tried, since uv cannot install here"; fi

FUZZ ?= 2000
fuzz: browser ## the campaigns of tests/fuzz with thousands of cases (FUZZ=2000), and more seeds elsewhere
	PARKADE_FUZZ=$(FUZZ) $(BIN)/pytest --timeout 7200 tests/fuzz tests/engine/steps/test_implicit.py \
	  tests/engine/sums/test_harmonic.py tests/engine/sums/test_series.py tests/experiments/claims/causal/test_capture.py \
	  tests/engine/field/test_followers.py tests/solve/test_noise.py tests/solve/test_resting.py tests/solve/test_sums.py \
	  tests/theory/test_final.py tests/theory/test_forecast.py tests/theory/test_parking.py \
	  tests/explorer/page/test_planner.py tests/explorer/page/test_page_controls.py \
	  tests/explorer/page/test_page_presets.py -n auto --dist worksteal

parity: browser ## engines in the browser against native ones, for hundreds of models
	PARKADE_PARITY=1 $(BIN)/pytest tests/explorer/wasm/test_tools.py tests/explorer/page/test_engine.py \
	  tests/explorer/page/test_fields.py -n auto --dist load

# Debian's where it can be installed, or else Playwright's own. The shell is Chromium without windows:
# the tests of the page take half of the CPU in it.
AS_ROOT := $(shell [ "$$(id -u)" = 0 ] || echo sudo -n)
APT_INSTALL = $(AS_ROOT) apt-get install --yes --no-install-recommends
HAVE_BROWSER = { command -v chromium-headless-shell || command -v chromium || command -v chromium-browser \
	|| command -v google-chrome; } >/dev/null
system-browser:
	@$(HAVE_BROWSER) || { $(AS_ROOT) apt-get update && { $(APT_INSTALL) chromium-headless-shell fonts-liberation \
	|| $(APT_INSTALL) chromium fonts-liberation; }; } || true

browser: system-browser $(VENV)/test ## see to a Chromium, which the tests of the explorer's page drive
	@$(HAVE_BROWSER) || $(BIN)/playwright install chromium

firefox: ## see to a Firefox: where there is one, the tests open the explorer's page in it too
	@command -v firefox-esr || command -v firefox \
	|| { $(AS_ROOT) apt-get update && $(APT_INSTALL) firefox-esr; }

$(VENV)/docs: pyproject.toml | $(BIN)/python
	$(call install,--editable '.[docs]')
	@touch $(VENV)/parkade $@

docs: $(VENV)/docs ## build the site into site/: all examples are run, warnings are errors
	@# Always the whole of it: what scenes and examples show depends on all of parkade.
	rm -rf site docs/gallery docs/api/generated
	$(BIN)/sphinx-build --builder html --fail-on-warning --keep-going --quiet docs site
	$(BIN)/python docs/check.py site

docstest: docs browser ## build the site, and visit it with a Chromium
	$(BIN)/pytest --override-ini pythonpath='tests docs' docs/test_site.py

wheel: $(VENV)/parkade ## build a wheel with machine code for this platform into dist/
	$(call install,'hatchling>=1.25')
	PARKADE_PREBUILT=1 $(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

dist: $(VENV)/parkade ## build wheel and sdist into dist/, install each into a clean environment, and try it
	$(call install,'hatchling>=1.25')
	rm -rf dist && $(BIN)/python -m hatchling build --directory dist
	$(BIN)/python packaging/try_dist.py dist/*

# In an environment of its own: the tools are pinned, since they decide about every bit.
$(VENV)/wasm: pyproject.toml | $(BIN)/python
	$(PYTHON) -m venv $@
	$@/bin/python -m pip install $(OPTIONS) --editable '.[wasm]'
	@touch $@

wasm: $(VENV)/wasm ## build the engines for pages, after an edit of the engine
	$(VENV)/wasm/bin/python packaging/wasm/build.py

page: $(VENV)/parkade ## write the explorer as static files into page/, for any host
	$(BIN)/python -m parkade.explorer.standalone.folder page

bench: $(VENV)/parkade ## measure the speed against named baselines
	$(BIN)/parkade bench

clean: ## remove the environment, the results and the caches
	rm -rf $(VENV) results dist site page docs/gallery docs/api/generated .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
