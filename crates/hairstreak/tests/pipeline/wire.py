"""Wires between pairs of interfaces: frames go from one to the other, late, in another order, or not at all.

    wire.py FIRST SECOND [FIRST SECOND ...]

A line on stdin, `PAIR FROM DROP DELAY_MS JITTER_MS`, sets what becomes of frames that come in at end FROM (0 or 1) of that
pair (from 0), and is answered by `ok`. It ends with stdin. The seed of the delays is printed on stderr; HAIRSTREAK_SIMULATION_SEED replays
them. Needs root.
"""

import heapq
import os
import random
import select
import socket
import sys
import time

ETH_P_ALL = 3
SOL_PACKET, PACKET_VNET_HDR, PACKET_IGNORE_OUTGOING = 263, 15, 23
SO_RCVBUFFORCE = 33
FRAME_SIZE_MAX = 1 << 17
# Frames on their way; of more, further ones are lost.
FRAME_COUNT_MAX = 20_000


def open_end(interface):
    end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    end.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)
    # With each frame goes what the hosts have left to the card: checksums, and cutting to size.
    end.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    end.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    end.bind((interface, 0))
    end.setblocking(False)
    return end


def main():
    ends = [open_end(interface) for interface in sys.argv[1:]]
    fates = [(0, 0.0, 0.0)] * len(ends)
    numbers = {end.fileno(): number for number, end in enumerate(ends)}
    poll = select.poll()
    for end in ends:
        poll.register(end, select.POLLIN)
    poll.register(sys.stdin, select.POLLIN)
    late, serial = [], 0
    seed = os.environ.get("HAIRSTREAK_SIMULATION_SEED") or random.SystemRandom().randrange(1 << 32)
    print(f"HAIRSTREAK_SIMULATION_SEED={seed}", file=sys.stderr, flush=True)
    random.seed(int(seed))
    print("ok", flush=True)
    while True:
        wait = max(0, late[0][0] - time.monotonic()) * 1000 if late else None
        for descriptor, _ in poll.poll(wait):
            number = numbers.get(descriptor)
            if number is None:
                line = sys.stdin.readline()
                if not line:
                    return
                pair, side, drop, delay, jitter = (int(word) for word in line.split())
                fates[2 * pair + side] = (drop, delay / 1000, jitter / 1000)
                print("ok", flush=True)
                continue
            drop, delay, jitter = fates[number]
            for _ in range(64):
                try:
                    frame = ends[number].recv(FRAME_SIZE_MAX)
                except (BlockingIOError, OSError):
                    break
                if drop or len(late) >= FRAME_COUNT_MAX:
                    continue
                serial += 1
                heapq.heappush(late, (time.monotonic() + delay + random.random() * jitter, serial, number ^ 1, frame))
        while late and late[0][0] <= time.monotonic():
            _, _, number, frame = heapq.heappop(late)
            try:
                ends[number].send(frame)
            except OSError:
                pass  # The interface is down or full: lost, as on a wire.


main()
