"""python -m verdict, and the console script: an interrupt is one sentence from the first import on."""

import gc
import os
import sys


def main() -> None:
    """Run the command line.

    An interrupt while something is imported leaves at once: where it struck within code that is made from a string (a
    named tuple), the interpreter would remember it, and end by that signal instead of the status. Where it struck while
    an attribute of a class was named, it is the cause of a RuntimeError. What is imported stays: the garbage collector
    need not go through it.
    """
    gc.disable()
    try:
        from verdict.cli import main as run  # noqa: PLC0415  (takes a second, in which one may be interrupted)
    except (KeyboardInterrupt, RuntimeError) as error:
        if not isinstance(error, KeyboardInterrupt) and not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        print("verdict: interrupted; nothing was decided", file=sys.stderr, flush=True)
        os._exit(2)
    gc.freeze()
    gc.enable()
    run()


if __name__ == "__main__":
    main()
