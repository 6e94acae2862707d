"""The modules that hold the checks."""

import importlib

MODULES = """handshake channels exchanges routing queues arguments publishing confirms consuming acknowledging transactions
expiry lengths dead_letters priorities exclusive_consumers quorum hostile kills blocking asynchronous alarm""".split()


def load():
    for module in MODULES:
        importlib.import_module(f"checks.{module}")
