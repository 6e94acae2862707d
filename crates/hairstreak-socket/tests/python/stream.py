"""The messages of a cell and their tally, as tests/interop/stream.rs has them: the sender draws them by
a seed, the receiver need not know it; what both tally must be the same."""

import random
import struct
import zlib

MEBIBYTE = 1 << 20
# Sizes around those at which an encoding, a buffer or a path changes; they come first.
EDGES = [0, 1, 30, 31, 254, 255, 256, 257, 8191, 8192, 16_385, 65_535, 65_537, MEBIBYTE]


class Stream:
    """Draws messages, mostly small, up to 1 MiB, one in eight of several frames."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.edges = iter(EDGES)
        self.pattern = self.random.randbytes(2 * MEBIBYTE)

    def draw(self):
        """The frames of the next message."""
        count = self.random.randrange(2, 6) if self.random.getrandbits(3) == 0 else 1
        return [self.draw_body() for _ in range(count)]

    def draw_body(self):
        size = next(self.edges, None)
        bits = self.random.getrandbits(32)
        if size is None:
            kind = bits % 4096
            if kind == 0:
                size = self.random.randrange(MEBIBYTE + 1)
            elif kind < 16:
                size = self.random.randrange(65_536)
            elif kind < 256:
                size = self.random.randrange(4096)
            elif kind < 512:
                size = 0
            else:
                size = (bits >> 12) % 64
        start = (bits >> 12) % MEBIBYTE
        return self.pattern[start : start + size]


class Tally:
    """What a side has sent or received: counts, and a CRC-32 of all frames with their boundaries."""

    def __init__(self):
        self.messages = self.frames = self.bytes = self.crc = 0

    def add(self, frames):
        self.messages += 1
        crc = zlib.crc32(struct.pack("<I", len(frames)), self.crc)
        for frame in frames:
            self.frames += 1
            self.bytes += len(frame)
            crc = zlib.crc32(frame, zlib.crc32(struct.pack("<I", len(frame)), crc))
        self.crc = crc

    def __str__(self):
        return f"{self.messages} messages, {self.frames} frames, {self.bytes} bytes, crc {self.crc:08x}"
