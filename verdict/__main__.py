"""python -m verdict"""

from verdict.cli import main

main()
