"""python -m verdict, and the console script: an interrupt is one sentence from the first import on."""

import sys


def main() -> None:
    """Run the command line."""
    try:
        from verdict.cli import main as run  # noqa: PLC0415  (takes a second, in which one may be interrupted)
    except KeyboardInterrupt:
        print("verdict: interrupted; nothing was decided", file=sys.stderr)
        sys.exit(2)
    run()


if __name__ == "__main__":
    main()
