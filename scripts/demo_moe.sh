#!/bin/sh
# A small mixture of experts is proved, and refuted with an expert range off by one. Options and columns: scripts/evaluate.py.
exec "${PYTHON:-python3}" "$(dirname "$0")/evaluate.py" demo_moe "$@"
