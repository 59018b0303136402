#!/bin/sh
# The six large runs: nnScaler's plans, and generated ones at real widths. Options and columns: scripts/evaluate.py.
exec "${PYTHON:-python3}" "$(dirname "$0")/evaluate.py" large "$@"
