# Everything runs in .venv, which is made in the checkout when it is missing or older than pyproject.toml.
#   PYTHON=python3.12   the Python to make .venv with (3.11 or newer)
#   TRAIN=1             also install what training and .pt2 import need (torch, scikit-learn, Pillow)
#   TORCH=torch         the torch to install then, such as torch==2.13.0
#   CI=true             a missing compiler or emulator fails its tests instead of skipping them
TORCH ?= torch
ifeq ($(TRAIN),1)
TEST_ENVIRONMENT := test,dev,train "$(TORCH)"
else
TEST_ENVIRONMENT := test,dev
endif
export PYTHON

.DEFAULT_GOAL := help
.PHONY: help demo test test-all lint format bench clean venv

help: ## what can be made
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1	\2/p' Makefile

demo: ## compile LeNet-5, show what happens to its memory, run it on handwritten digits
	@sh scripts/venv.sh verify
	@.venv/bin/python examples/lenet5/demo.py

test: venv ## ruff, pyright, lit and pytest, with one summary (TRAIN=1: with torch)
	@.venv/bin/python scripts/toolchains.py
	@.venv/bin/python scripts/check.py

test-all: venv ## make test, and the slow tests too
	@.venv/bin/python scripts/toolchains.py
	@.venv/bin/python scripts/check.py "ruff check" "ruff format" pyright lit "all of pytest"

lint: venv ## ruff and pyright only
	@.venv/bin/python scripts/check.py "ruff check" "ruff format" pyright

format: venv ## let ruff rewrite what it can
	@.venv/bin/python -m ruff check --fix --quiet . ; .venv/bin/python -m ruff format .

bench: venv ## measure code, memory, traffic and instructions, and the compiler's speed
	@.venv/bin/python scripts/toolchains.py
	@.venv/bin/python bench/mcu.py
	@.venv/bin/python bench/scale.py
	@.venv/bin/python bench/tiling.py
	@.venv/bin/python bench/off_chip.py
	@.venv/bin/python bench/off_chip.py --time
	@.venv/bin/python bench/microcode.py
	@.venv/bin/python bench/zero_blocks.py

venv: ## .venv with everything that the tests need
	@sh scripts/venv.sh $(TEST_ENVIRONMENT)

clean: ## remove .venv and everything that was generated
	rm -rf .venv *.egg-info build .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	find lit-tests -name Output -type d -prune -exec rm -rf {} +
