#!/bin/sh
# A small LLaMA3 plan is proved, and refuted with a sum left out. Options and columns: scripts/evaluate.py.
exec "${PYTHON:-python3}" "$(dirname "$0")/evaluate.py" demo_llama3 "$@"
