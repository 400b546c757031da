# Two commands do all: `make demo` and `make test`. Each sets itself up in .venv the first time.
VENV := .venv
BIN := $(VENV)/bin
PYTHON := $(shell command -v python3.11 || command -v python3)

.PHONY: demo test check format bench-speed bench-quality bench-memory bench-thieves bench-embed bench-paper bench-mnist clean
.DEFAULT_GOAL := test

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt hatchling editables
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-build-isolation -e '.[dev]'
	touch $@

$(VENV)/.ray: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-build-isolation -e '.[ray]'
	touch $@

$(VENV)/.dice: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-build-isolation -e '.[dice]'
	touch $@

demo: $(VENV)/.ready  ## the whole story on the embedded data
	$(BIN)/cfmark demo --out build/demo

test: $(VENV)/.ray  ## every test
	$(BIN)/python -m pytest

check: $(VENV)/.ready  ## format, lint, types and import floors
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.ready
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench-speed: $(VENV)/.dice  ## CFs per second, beside dice-ml on the same rows
	$(BIN)/python -m benchmarks.speed

bench-quality: $(VENV)/.ready  ## validity and proximity in twelve cells, beside the paper's Table 2
	$(BIN)/python -m benchmarks.quality

bench-memory: $(VENV)/.ready  ## peak memory of `cfmark explain` on 10,000 and 100,000 Loan rows
	$(BIN)/python -m benchmarks.memory

bench-thieves: $(VENV)/.ready  ## seconds for 50 thieves of each family, and how far they agree with the owner
	$(BIN)/python -m benchmarks.thieves

bench-embed: $(VENV)/.ready  ## how fast marks are made, where the time goes and how it grows
	$(BIN)/python -m benchmarks.embedding

# Every table and figure of the paper. What is done is kept in build/bench, so a stopped target goes on.
# `make bench-table1 BENCH_OPTIONS="--only dataset=cancer"` runs a part.
PAPER := table1 table2 confusion lambda3 data_augmentation losses_credit_dice losses_cancer_cchvae \
	finetune pruning loss_curves random_baseline
BENCH_OPTIONS ?=

bench-paper: $(addprefix bench-,$(PAPER)) bench-mnist  ## all of them, one after the other

bench-mnist: $(VENV)/.ready  ## the case study on digits, as a picture
	$(BIN)/cfmark bench mnist --out docs/figures --save results/mnist.json

bench-%: experiments/%.toml $(VENV)/.ready  ## an experiment: its tables, results/NAME.json, docs/figures/
	$(BIN)/cfmark bench run $< --out build/bench/$* --resume $(BENCH_OPTIONS)
	$(BIN)/cfmark bench table build/bench/$* --save results/$*.json
	$(BIN)/cfmark bench figures build/bench/$* --out docs/figures

clean:
	rm -rf $(VENV) build dist
