"""Checks of an AMQP 0-9-1 broker, the same for RabbitMQ and for Hairstreak:

    python checks.py HOST:PORT [--only NAME] [--jobs N] [--without NEED]... [--alarm COMMAND] [--list]

The broker has the users guest (password guest, everything) and limited (password limited, only what begins with "mine"),
the largest message is 16 MiB, and the virtual hosts are "/", "checks", "other" (all three
for guest) and "closed" (for nobody). What a broker lacks of that is left out by --without permissions."""

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import check
import coverage
from checks import everything


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address", metavar="HOST:PORT")
    parser.add_argument("--only", metavar="NAME", help="run the checks whose names contain NAME")
    parser.add_argument("--jobs", type=int, default=8, metavar="N")
    parser.add_argument("--without", action="append", default=[], metavar="NEED", help="leave out what needs this of a broker")
    parser.add_argument("--alarm", default="", metavar="COMMAND", help='COMMAND "on" has the broker believe that it is short of memory')
    parser.add_argument("--list", action="store_true", help="name the checks and run none")
    return parser.parse_args()


def main():
    options = arguments()
    host, port = options.address.rsplit(":", 1)
    address = (host, int(port))
    everything.load()
    if not options.alarm:
        options.without.append("alarm")
    chosen = [c for c in check.registry if c.needs not in options.without and (options.only or "") in c.name]
    if options.list:
        print("\n".join(f"{c.name}{f'  (needs {c.needs})' if c.needs else ''}" for c in chosen))
        return 0
    coverage.watch_pika()
    check.alarm_command += options.alarm.split()
    began = time.monotonic()
    failed = 0
    for jobs, group in ((options.jobs, [c for c in chosen if c.needs != "alarm"]), (1, [c for c in chosen if c.needs == "alarm"])):
        with ThreadPoolExecutor(jobs) as pool:
            for one, (problem, took_s) in zip(group, pool.map(lambda c: run(c, address), group)):
                failed += problem is not None
                print(f"{one.name:70} {took_s:6.3f} s  {'ok' if problem is None else 'FAILED: ' + problem}", flush=True)
    missing = [] if options.only else coverage.report(options.without)
    print(f"{len(chosen)} checks, {failed} failed, {time.monotonic() - began:.1f} s")
    return 1 if failed or missing or not chosen else 0


def run(one, address):
    began = time.monotonic()
    with coverage.check(one):
        return one.run(check.Broker(address, one.name)), time.monotonic() - began


if __name__ == "__main__":
    sys.exit(main())
