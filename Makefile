# Each target does the set-up it needs, once.
PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt

PEERS := .venv-peers/bin
INSTALL_PEERS := $(PEERS)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

QUICK := src README.md tests/oracles tests/core tests/encodings tests/names tests/test_messages.py tests/test_project.py \
	tests/test_temperatures.py

# What goes through the compiled kernels, tested without them too.
ROTATIONS := tests/torch/test_rotary.py tests/torch/test_additive.py tests/encodings/test_rope.py tests/encodings/test_axial.py

# Python keeps what it has compiled, and tests start in half the time.
export PYTHONDONTWRITEBYTECODE =

.PHONY: explore page browser quick test fuzz test-slow prove test-browser screenshots check conformance conformance-page models-page readme-table cli-page contract stub peers ray triton explorer-slow format venv bench bench-regress performance-page clean

explore: .venv/explorer  ## the explorer: type a sentence, see its positional encoding
	@$(BIN)/python hatch_build.py  # after a pull that changed it
	@$(BIN)/posenc explore $(ARGS)

page: venv  ## the explorer's page, built anew (an install builds it too)
	$(BIN)/python hatch_build.py --always

quick: venv  ## the core, every encoding and the doctests, in a minute; not on JAX, which compiles for another
	$(BIN)/python -m pytest --numprocesses 2 -k "not jax" $(QUICK)

test: venv  ## every test, doctest and README example; SEED=7 shuffles their order
	@$(BIN)/python hatch_build.py  # after a change of it
	@$(BIN)/python -m tests.browser.chromium || true  # without one, the end of the run says so
	$(BIN)/python -m pytest --numprocesses 2 --maxschedchunk 8 --shuffle $(or $(SEED),0)
	POSENC_KERNELS=0 $(BIN)/python -m pytest --numprocesses 2 $(ROTATIONS)

fuzz: venv  ## properties with fresh examples and malformed requests, again and again for MINUTES=5
	$(BIN)/python -m tests.fuzz $(or $(MINUTES),5)

test-slow: venv  ## what is slow and seldom fails; a release runs it
	$(BIN)/python -m pytest -m "slow or conformance or explorer_slow" tests

prove: venv  ## the whole suite in ten ways, and a table of them; a second run does what is left
	$(BIN)/python -m tests.prove $(ROWS)

test-browser: venv browser  ## the explorer in a real browser, alone, with its speeds printed
	$(BIN)/python -m pytest -m browser tests/browser

screenshots: venv browser  ## pictures of every view in four languages, to be looked at; says where they are
	$(BIN)/python -m tests.browser.screenshots

browser: venv  ## a browser for the tests: the system's, Playwright's, or Debian's with its fonts
	@$(BIN)/python -m tests.browser.chromium

check: venv  ## format, lint, types, of the page too
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/python hatch_build.py --check

format: venv
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

conformance: venv  ## every rotary module of Hugging Face's transformers against ours, and their biases
	$(BIN)/python -m pytest -m conformance tests/conformance

conformance-page: venv  ## docs/conformance.md, out of the same walk
	$(BIN)/python -W ignore -m tests.conformance.page

readme-table: venv  ## the READMEs' tables: the list of encodings, and properties out of checks that passed
	$(BIN)/python -m tests.checks.readme_table

models-page: venv  ## docs/models.md, out of the default config of every model type of transformers
	$(BIN)/python -W ignore -m tests.conformance.models_page

cli-page: venv  ## docs/cli.md, out of the help of every command
	$(BIN)/python -m tests.cli.page

contract: venv  ## web/src/contract.ts, the page's types, out of the server's OpenAPI description
	$(BIN)/python -m tests.explorer.contract

stub: venv  ## src/posenc/__init__.pyi, the public names for type checkers
	$(BIN)/python -m tests.stub

triton: venv .triton/installed  ## the rotation in Triton's interpreter, or on the GPU if there is one
	PYTHONPATH=.triton $(BIN)/python -m pytest -m triton tests/kernels

peers: .venv-peers/installed  ## the doctor on other libraries, in .venv-peers; writes docs/peers.md
	$(PEERS)/python -m pytest -W ignore -m peers tests/peers
	$(PEERS)/python -W ignore -m tests.peers.page

ray: .venv/ray  ## the lab on Ray itself: two nodes, a killed worker, the bits of the local engine
	$(BIN)/python -m pytest -m ray tests/lab

explorer-slow: venv  ## a hundred clients, malformed requests by the thousand, the memory of the largest
	$(BIN)/python -m pytest -m explorer_slow -s tests/explorer

bench: venv  ## speed, as ratios within one run; ten minutes, ARGS=--quick one
	$(BIN)/posenc bench $(ARGS)

bench-regress: venv  ## whether something became slower than recorded for such a machine; ARGS=--record records
	$(BIN)/python -m tests.bench.regress $(ARGS)

performance-page: venv  ## docs/performance.md and the READMEs' speeds, out of docs/performance.json or RUN=FILE
	$(BIN)/python -m tests.bench.performance_page $(RUN)

venv: .venv/installed

# The explorer needs little; the tests add the rest to it. Neither clears what the other has installed.
# The page is built beside them, if the machine has Node; pip waits for it, or builds it with a Node of its own.
.venv/explorer: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("posenc needs Python 3.11 or later")'
	@echo "Installing posenc and its explorer into .venv: 290 MB, half a minute …"
	@$(PYTHON) hatch_build.py >/dev/null 2>&1 & $(PYTHON) -m venv .venv && $(INSTALL) --editable '.[explorer]'
	@touch $@

# PyTorch comes first and by its exact version: what follows must not pull another build.
.venv/installed: .venv/explorer
	@echo "Installing what the tests need into .venv (PyTorch, JAX, transformers, pyright): 2 GB, some minutes …"
	@$(INSTALL) torch==2.13.0
	@$(INSTALL) --editable '.[dev]'
	@-$(BIN)/python -m posenc.kernels  # says that there are kernels, or why not
	@touch $@

.venv/ray: .venv/installed
	@echo "Installing Ray into .venv: 250 MB, a minute …"
	@$(INSTALL) --editable '.[ray]'
	@touch $@

# timm wants torchvision, which has no CPU build on PyPI; keras-hub wants TensorFlow. What is checked needs neither.
.venv-peers/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv --clear .venv-peers
	$(INSTALL_PEERS) torch==2.13.0
	$(INSTALL_PEERS) --editable '.[peers]'
	$(INSTALL_PEERS) --no-deps timm==1.0.30 keras-hub==0.32.0
	@touch $@

# Apart, for 700 MB are much for one file; the version is the one that the CUDA build of PyTorch 2.13.0 requires.
.triton/installed: constraints.txt | venv
	@echo "Installing Triton into .triton: 700 MB, a minute …"
	@$(INSTALL) --no-deps --upgrade --target .triton triton==3.7.1
	@touch $@

clean:
	rm -rf .venv .venv-peers .triton dist build .pytest_cache .ruff_cache .hypothesis
