#!/bin/sh
# Forty runs of generated LLaMA3 plans over each size alone. Options and columns: scripts/evaluate.py.
exec "${PYTHON:-python3}" "$(dirname "$0")/evaluate.py" trends "$@"
