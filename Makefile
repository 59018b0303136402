# The checks that CI runs (.ci/run), one by one, in the environment that is active.
PYTHON ?= python

.PHONY: check lint types test quick pages site wheel
check: lint types test

lint:
	$(PYTHON) -m ruff check .

types:
	$(PYTHON) -m mypy

test:
	VERDICT_WHOLE=tests $(PYTHON) -m pytest -n 2

quick:  # a few of each costly family
	$(PYTHON) -m pytest -n 2

pages:  # those that are written from the code
	$(PYTHON) scripts/operator_table.py
	$(PYTHON) scripts/limits_table.py
	$(PYTHON) scripts/codes_page.py

site:  # docs/ as pages with search, in build/site
	$(PYTHON) -m sphinx -q -W --keep-going -b html docs build/site

wheel:
	$(PYTHON) -m pip wheel --no-deps -w dist .
