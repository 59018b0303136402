#!/bin/sh
# All that docs/evaluation.md tells, measured anew: the large runs, the trends and their plots, the tables of the pages.
# run_evaluation.sh [ROUNDS]: of so many rounds (2) the fastest counts. Takes about ten minutes for two.
set -e
cd "$(dirname "$0")/.."
python="${PYTHON:-python3}"
"$python" scripts/evaluate.py large --repeat "${1:-2}" --output docs/evaluation/large.csv
"$python" scripts/evaluate.py trends --repeat "${1:-2}" --output docs/evaluation/trends.csv
"$python" scripts/plot_trends.py docs/evaluation/trends.csv
"$python" scripts/write_evaluation.py
