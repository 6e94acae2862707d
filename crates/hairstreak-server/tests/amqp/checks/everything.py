"""The modules that hold the checks."""

import importlib

MODULES = """handshake channels exchanges routing queues arguments publishing confirms consuming acknowledging transactions
expiry lengths dead_letters priorities exclusive_consumers quorum hostile blocking asynchronous""".split()


def load():
    for module in MODULES:
        if not __import__("os").path.exists(f"checks/{module}.py"): continue
        importlib.import_module(f"checks.{module}")
