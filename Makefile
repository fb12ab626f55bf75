# Everything runs in .venv, which is made in the checkout when it is missing or older than pyproject.toml
# or constraints.txt, which pins the versions.
#   VENV=.venv-train    another folder than .venv
#   PYTHON=python3.12   the Python to make .venv with (3.11 or newer)
#   TRAIN=1             also install what training and .pt2 import need (torch, scikit-learn, Pillow)
#   TORCH=torch         the torch to install then, such as torch==2.13.0
#   XDSL="0.73 0.74"    the versions of xDSL for make test-xdsl
#   TESTS="lit-tests"   folders and files of tests for make test-xdsl, if not all
#   CI=true             a missing compiler or emulator fails its tests instead of skipping them
TORCH ?= torch
VENV ?= .venv
XDSL ?= 0.73 0.74
TESTS ?= lit-tests tests
ifeq ($(TRAIN),1)
EXTRAS := test,dev,explore,train
PACKAGES := "$(TORCH)"
else
EXTRAS := test,dev,explore
endif
export PYTHON VENV

.DEFAULT_GOAL := help
.PHONY: help demo zynq test test-all test-rest test-long test-torch lint format bench clean venv
.PHONY: constraints docs reference test-xdsl

help: ## what can be made
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1	\2/p' Makefile

demo: ## compile LeNet-5, show what happens to its memory, run it on handwritten digits
	@sh scripts/venv.sh verify
	@$(VENV)/bin/python examples/lenet5/demo.py

zynq: ## compile LeNet-5 and its DMA microcode, and run both on an emulated Zynq (QEMU)
	@sh scripts/venv.sh verify
	@$(MAKE) --no-print-directory -C examples/zynq run PYTHON=$(abspath $(VENV))/bin/python

test: venv ## ruff, pyright, lit and pytest, with one summary (TRAIN=1: with torch)
	@$(VENV)/bin/python scripts/toolchains.py
	@$(VENV)/bin/python scripts/check.py

test-all test-rest: DOCS := ,docs

test-all: venv ## make test, the slow tests, the documentation, and planted faults (scripts/mutants.py)
	@$(VENV)/bin/python scripts/toolchains.py
	@$(VENV)/bin/python scripts/check.py "ruff check" "ruff format" pyright lit "all of pytest" docs mutants

test-torch: venv ## what needs torch: its types, and its tests but the slow ones (with TRAIN=1)
	@$(VENV)/bin/python scripts/toolchains.py
	@$(VENV)/bin/python scripts/check.py "pyright of torch" "pytest of torch"

test-long: venv ## the tests of tests/long.txt, which continuous integration leaves out
	@$(VENV)/bin/python scripts/toolchains.py
	@$(VENV)/bin/python scripts/check.py "long pytest"

test-rest: venv ## a third of the slow tests that are not long and of all examples of properties, documentation, a sixth of the planted faults; TRAIN=1: what needs torch
	@$(VENV)/bin/python scripts/toolchains.py
	@$(VENV)/bin/python scripts/check.py "pyright of torch" "rest of pytest" docs "some mutants"

lint: venv ## ruff and pyright only
	@$(VENV)/bin/python scripts/check.py "ruff check" "ruff format" pyright

format: venv ## let ruff rewrite what it can
	@$(VENV)/bin/python -m ruff check --fix --quiet . ; $(VENV)/bin/python -m ruff format .

bench: venv ## measure code, memory, traffic and instructions, and the compiler's speed
	@$(VENV)/bin/python scripts/toolchains.py
	@$(VENV)/bin/python bench/mcu.py --all
	@$(VENV)/bin/python bench/scale.py
	@$(VENV)/bin/python bench/tiling.py
	@$(VENV)/bin/python bench/off_chip.py
	@$(VENV)/bin/python bench/off_chip.py --time
	@$(VENV)/bin/python bench/microcode.py
	@$(VENV)/bin/python bench/upstream.py
	@$(VENV)/bin/python bench/zero_blocks.py

reference: venv ## write docs/reference/, docs/operators.md and the picture of README.md from the code
	@$(VENV)/bin/python scripts/reference.py
	@$(VENV)/bin/python scripts/operators.py
	@$(VENV)/bin/python scripts/picture.py

docs: ## the documentation as HTML in build/site; a broken link is an error
	@sh scripts/venv.sh docs
	@$(VENV)/bin/python scripts/docs.py

test-xdsl: venv ## lit and the fast part of pytest on other versions of xDSL
	@$(VENV)/bin/python scripts/xdsl_versions.py $(XDSL) --tests $(TESTS)

constraints: ## write constraints.txt from what is installed in .venv
	@$(VENV)/bin/python scripts/constraints.py

venv: ## .venv with everything that the tests need
	@sh scripts/venv.sh $(EXTRAS)$(DOCS) $(PACKAGES)

clean: ## remove .venv and everything that was generated
	rm -rf .venv "$(VENV)" *.egg-info build .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	find lit-tests -name Output -type d -prune -exec rm -rf {} +
