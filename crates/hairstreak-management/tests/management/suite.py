"""Checks of what an operator meets, the same for RabbitMQ and for Hairstreak:

    python suite.py AMQP/HTTP/METRICS MODULE... [--only NAME] [--jobs N] [--without NEED]... [--alarm COMMAND]

Each place is HOST:PORT. The user guest, whose password is guest, is an administrator who may do everything in the virtual host "/"."""

import argparse
import importlib
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.append(str(Path(__file__).parents[3] / "hairstreak-node/tests/amqp"))

import api
import check
from node import Node
from places import Places


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("places", metavar="AMQP/HTTP/METRICS", type=Places)
    parser.add_argument("modules", metavar="MODULE", nargs="+")
    parser.add_argument("--only", metavar="NAME", default="", help="run the checks whose names contain NAME")
    parser.add_argument("--jobs", type=int, default=4, metavar="N")
    parser.add_argument("--without", action="append", default=[], metavar="NEED", help="leave out what needs this of a node")
    parser.add_argument("--alarm", default="", metavar="COMMAND", help='COMMAND "on" has the node believe that it is short of memory')
    return parser.parse_args()


def main():
    options = arguments()
    for module in options.modules:
        importlib.import_module(module)
    check.alarm_command += options.alarm.split()
    if "lists of what goes" in options.without:
        api.gets_max = 5
    left_out = {need for need in options.without} | ({"alarm"} if not options.alarm else set())
    chosen = [one for one in check.registry if one.needs not in left_out and options.only in one.name]
    began, failed = time.monotonic(), 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for one, (problem, took_s) in zip(chosen, pool.map(lambda one: run(one, options.places), chosen)):
            failed += problem is not None
            print(f"{one.name:70} {took_s:6.3f} s  {'ok' if problem is None else 'FAILED: ' + problem}", flush=True)
    for target, count in sorted(api.retries.items()):
        print(f"RabbitMQ: {count} retries of GET {target}")
    print(f"{len(chosen)} checks, {failed} failed, {time.monotonic() - began:.1f} s")
    return 1 if failed or not chosen else 0


def run(one, places):
    began = time.monotonic()
    return one.run(Node(places, one.name)), time.monotonic() - began


if __name__ == "__main__":
    sys.exit(main())
