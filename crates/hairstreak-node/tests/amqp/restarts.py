"""Has two brokers do the same, restarts both in order in the middle, and compares what a client sees:

    python restarts.py HOST:PORT HOST:PORT [--only NAME]

The first is RabbitMQ. The line "restart" asks for the restart of both, and a line with the new address of the second answers it. A difference is printed
with the name of its scenario."""

import argparse
import sys
import time

import check
import scenarios
from check import Broker


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", metavar="HOST:PORT")
    parser.add_argument("second", metavar="HOST:PORT")
    parser.add_argument("--only", metavar="NAME", default="", help="run the scenarios whose names contain NAME")
    return parser.parse_args()


def address(text):
    host, port = text.strip().rsplit(":", 1)
    return host, int(port)


class Run:
    """A scenario on one broker."""

    def __init__(self, scenario, place):
        self.broker = Broker(place, scenario.__name__)
        self.seen, self.problem = [], None
        self.steps = scenario(self.broker, self.seen.append)

    def go_on(self):
        """Runs the scenario up to the restart, or to its end."""
        try:
            next(self.steps, None)
        except Exception as error:  # A scenario may fail in any way; the others go on.
            self.problem = f"{type(error).__name__}: {error}\n    at {check.place(error)}"

    def restarted(self, place):
        """The broker was restarted."""
        for wire in self.broker.wires:
            wire.close()
        self.broker.wires.clear()
        self.broker.address = place


def differences(pair):
    """What one broker has shown and the other has not, as lines."""
    first, second = pair
    lines = [f"  broker {number}: {run.problem}" for number, run in enumerate(pair, 1) if run.problem]
    for number in range(max(len(first.seen), len(second.seen))):
        found = [run.seen[number] if number < len(run.seen) else "nothing" for run in pair]
        if found[0] != found[1]:
            lines.append(f"  look {number}:\n    first  {found[0]}\n    second {found[1]}")
    return lines


def main():
    options = arguments()
    places = [address(options.first), address(options.second)]
    chosen = [scenario for scenario in scenarios.ALL if options.only in scenario.__name__]
    began = time.monotonic()
    pairs = [[Run(scenario, place) for place in places] for scenario in chosen]
    for pair in pairs:
        for run in pair:
            run.go_on()
    took = [time.monotonic() - began]
    print("restart", flush=True)
    places[1] = address(sys.stdin.readline())
    took.append(time.monotonic() - began)
    for pair in pairs:
        for run, place in zip(pair, places):
            run.restarted(place)
    failed = 0
    for scenario, pair in zip(chosen, pairs):
        for run in pair:
            if not run.problem:
                run.go_on()
            run.broker.leave()
        lines = differences(pair)
        failed += bool(lines)
        print("\n".join([f"{scenario.__name__}: {'DIFFERENT' if lines else 'equal'}", *lines]), flush=True)
    took.append(time.monotonic() - began)
    print(f"{len(chosen)} scenarios, {failed} with a difference; restart from {took[0]:.1f} s to {took[1]:.1f} s of {took[2]:.1f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
