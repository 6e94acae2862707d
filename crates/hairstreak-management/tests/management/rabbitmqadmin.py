"""Debian's rabbitmqadmin, unmodified, with every verb it has, on two nodes one after the other, and a comparison of what it says:

    python rabbitmqadmin.py AMQP/HTTP/METRICS [AMQP/HTTP/METRICS]

With one node only, it prints what was said. The first is RabbitMQ. Each place is HOST:PORT. The two may be one node: what is
declared is deleted at the end."""

import contextlib
import io
import json
import os
import sys
import tempfile
import time

from places import Places
from likeness import differences
from rabbitmqadmin_steps import row_order, steps

PROGRAM = "/usr/bin/rabbitmqadmin"


class Admin:
    """The program at one node. It runs within this process, anew for each command: to start a process takes longer than the command."""

    with open(PROGRAM) as file:
        code = compile(file.read(), PROGRAM, "exec")

    def __init__(self, places, folder):
        self.places, self.folder = places, folder
        self.said = []
        # A configuration file of the user would be read.
        os.environ["HOME"] = folder

    def run(self, *words, input=""):
        """Runs a command, and returns its exit code, its output and its complaints."""
        host, port = self.places.http
        options = [] if "--base-uri" in words else ["-H", host, "-P", str(port)]
        output, complaints, code = io.StringIO(), io.StringIO(), 0
        arguments, standard_input = sys.argv, sys.stdin
        sys.argv, sys.stdin = ["rabbitmqadmin", *options, *words], io.StringIO(input)
        try:
            with contextlib.redirect_stdout(output), contextlib.redirect_stderr(complaints):
                exec(self.code, {"__name__": "__main__"})
        except SystemExit as end:
            code = end.code or 0
        except Exception as error:
            code = f"{type(error).__name__}: {error}"
        finally:
            sys.argv, sys.stdin = arguments, standard_input
        return code, output.getvalue(), complaints.getvalue()

    def do(self, *words, input="", only=None, own_words=False):
        """Runs a command, and notes what it said. `only`: the rows that are noted of a list. `own_words`: it is refused, in words that
        are Erlang's, for which a node may have its own."""
        code, output, complaints = self.run(*words, input=input)
        if own_words:
            self.note(words, {"refused": code != 0})
            return None
        if "raw_json" in words and code == 0:
            output = json.loads(output)
            if "list" in words:
                output = sorted(filter(only, output), key=row_order)
        self.note(words, {"code": code, "output": output, "complaints": complaints})
        return output

    def note(self, words, said):
        self.said.append((" ".join(words).replace(self.folder, "FOLDER"), said))

    def list(self, *words, only=None):
        """Lists rows with all their columns."""
        return self.do("-f", "raw_json", "list", *words, only=only)

    def await_list(self, *words, until, only=None):
        """As `list`, when statistics have come that satisfy `until`."""
        deadline = time.monotonic() + 20
        while True:
            code, output, complaints = self.run("-f", "raw_json", "list", *words)
            assert code == 0, complaints
            if until([row for row in json.loads(output) if only is None or only(row)]):
                return self.list(*words, only=only)
            assert time.monotonic() < deadline, f"list {' '.join(words)}: {output}"
            time.sleep(0.05)  # tidy: allow(sleeps) nothing tells a client that statistics have come


def transcript(places):
    with tempfile.TemporaryDirectory() as folder:
        admin = Admin(places, folder)
        steps(admin)
        return admin.said


def main():
    first, *others = (transcript(Places(text)) for text in sys.argv[1:])
    if not others:
        print("\n".join(f"{command}\n    {json.dumps(said)}" for command, said in first))
        return 0
    [second] = others
    lines = []
    for (command, one), (same, other) in zip(first, second, strict=True):
        assert command == same, f"{command} and {same}"
        lines += [f"{command}\n    {line}" for line in differences(one, other)]
    print("\n".join(lines + [f"{len(first)} commands, {len(lines)} differences"]))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
