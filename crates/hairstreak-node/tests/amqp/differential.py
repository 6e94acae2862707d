"""Has two brokers do the same random operations in lock step, and compares what a client sees after each:

    python differential.py HOST:PORT/VIRTUAL_HOST HOST:PORT/VIRTUAL_HOST [--seed N] [--operations N]

A round is a seed: some sixty operations on fresh queues and exchanges. The first difference is printed with its seed and the
operations that lead to it, as few of them as still do."""

import argparse
import random
import sys
import time

from operations import Round
from side import Side, Unequal

ROUND_LENGTH = 60


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", metavar="HOST:PORT/VIRTUAL_HOST")
    parser.add_argument("second", metavar="HOST:PORT/VIRTUAL_HOST")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--operations", type=int, default=1000, metavar="N")
    return parser.parse_args()


def place(text):
    address, _, virtual_host = text.partition("/")
    host, port = address.rsplit(":", 1)
    return (host, int(port)), virtual_host or "/"


def run(places, seed, length, leave_out=()):
    """One round on fresh connections. Returns the operations, and the difference behind the last of them if there is one."""
    sides = [Side(*one) for one in places]
    one = Round(sides, seed, leave_out)
    try:
        for number in range(length):
            one.step(number)
        one.finish()
    except Unequal as difference:
        return one.done, str(difference)
    finally:
        for side in sides:
            side.forget()
    return one.done, None


def shortest(places, seed, length):
    """Leaves out operation after operation, from the last to the first, as long as there is still a difference."""
    left_out = set()
    for number in reversed(range(length)):
        done, difference = run(places, seed, length, left_out | {number})
        if difference:
            left_out.add(number)
    return run(places, seed, length, left_out)


def main():
    options = arguments()
    places = [place(options.first), place(options.second)]
    began, count, seed = time.monotonic(), 0, options.seed
    print(f"seed {seed}", flush=True)
    while count < options.operations:
        done, difference = run(places, seed, min(ROUND_LENGTH, options.operations - count))
        count += len(done)
        if difference:
            print(f"seed {seed}: a difference after {len(done)} operations:\n{difference}")
            shorter, still = shortest(places, seed, ROUND_LENGTH)
            done, difference = (shorter, still) if still else (done, difference)
            print("\n".join(["The operations that lead to it:", *(f"  {line}" for line in done), difference]))
            return 1
        seed += 1
    print(f"{count} operations, no difference, {time.monotonic() - began:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
