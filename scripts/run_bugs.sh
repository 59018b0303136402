#!/bin/sh
# The fourteen published bugs, and the plan that they were put into. Options and columns: scripts/evaluate.py.
exec "${PYTHON:-python3}" "$(dirname "$0")/evaluate.py" bugs "$@"
