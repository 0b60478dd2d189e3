# make demo · make test · make check: each sets up what it needs in .venv.
PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= auto

.PHONY: setup bubblewrap chromium demo test check ruff imports mypy pyright format clean

setup: .venv/ready bubblewrap

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Tilewright needs Python 3.11 or newer; set PYTHON=...")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[torch]'
	touch $@

# The dev tools are no part of a demo.
.venv/dev: .venv/ready
	$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt 'pytest>=8' 'pytest-xdist>=3.6' 'pytest-timeout>=2.3' \
	  'hypothesis>=6.100' 'ruff>=0.9' 'mypy>=1.13' 'pyright>=1.1.390' 'import-linter>=2.1'
	touch $@

# The box for candidates that a model or a person wrote. Built-in candidates run without it.
bubblewrap:
	@command -v bwrap >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	  && apt-get update -qq && apt-get install -y -qq bubblewrap >/dev/null; } \
	  || echo "bubblewrap is not installed: only built-in candidates will run (apt-get install bubblewrap)"

# The browser in which the tests look at report.html. Without it they are skipped, and say so.
chromium:
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	  && apt-get update -qq && apt-get install -y -qq chromium >/dev/null; } \
	  || echo "chromium is not installed: report.html is not tested in a browser (apt-get install chromium)"

demo: setup
	$(BIN)/tilewright optimize specs/softmax

check: ruff imports mypy pyright

ruff: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

imports: .venv/dev
	$(BIN)/lint-imports

mypy: .venv/dev
	$(BIN)/mypy -p tilewright -p tilewright_sandbox

pyright: .venv/dev
	$(BIN)/pyright --pythonpath $(BIN)/python

test: setup chromium .venv/dev
	$(MAKE) --no-print-directory --jobs 2 --output-sync check
	OMP_NUM_THREADS=1 $(BIN)/pytest -n $(WORKERS) --dist worksteal

format: .venv/dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv build dist
