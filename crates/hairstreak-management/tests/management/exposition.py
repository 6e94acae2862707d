"""Prometheus's text format, read strictly: a family's samples follow its type, and no series comes twice."""

import re
import urllib.request

SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)",?')
SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "summary": ("", "_sum", "_count")}


class Scrape:
    def __init__(self, address, path="/metrics"):
        host, port = address
        with urllib.request.urlopen(f"http://{host}:{port}{path}", timeout=20) as response:
            self.content_type, text = response.headers["Content-Type"], response.read().decode()
        self.types, self.series = {}, {}
        self.family = None
        for line in text.splitlines():
            self.read(line)

    def read(self, line):
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in self.types, f"{name} has two types"
            self.types[name], self.family = kind, name
        elif line and not line.startswith("#"):
            match = SAMPLE.fullmatch(line)
            assert match, f"no sample: {line!r}"
            name, labels, value = match.groups()
            names = [self.family + suffix for suffix in SUFFIXES.get(self.types.get(self.family), ("",))]
            assert name in names, f"{name} among the samples of {self.family}"
            key = name, frozenset(labels_of(labels or ""))
            assert key not in self.series, f"{line!r} comes twice"
            self.series[key] = float(value)

    def of(self, name, **labels):
        """The labels and values of a metric's series that have these labels."""
        wanted = labels.items()
        return [(dict(key), value) for (other, key), value in self.series.items() if other == name and wanted <= dict(key).items()]

    def sum(self, name, **labels):
        """The sum over a metric's series; 0 of none."""
        return sum(value for _, value in self.of(name, **labels))


def labels_of(text):
    found = LABEL.findall(text)
    assert "".join(f'{name}="{value}",' for name, value in found).rstrip(",") == text.rstrip(","), f"no labels: {text!r}"
    return found
