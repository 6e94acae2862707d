"""Ends of connections that are closed early: closing.py, told what to do line by line.

"pull ENDPOINT HEARTBEAT_MS" opens a PULL and says "connected". "receive COUNT" has it wait for some
heartbeats, receive, and say the tally. "hoard ENDPOINT COUNT SEED" opens a PUSH without a high-water
mark, says the tally when libzmq has the last message, and closes it; libzmq goes on to send."""

import sys

import peer
import stream
import zmq
from zmq.utils.monitor import recv_monitor_message


def pull(endpoint, heartbeat_ms):
    # Not to be connected again: the port may be another's by then. (-1 would have libzmq drop what is unread.)
    beats = {"HEARTBEAT_IVL": heartbeat_ms, "HEARTBEAT_TIMEOUT": peer.LONG_MS}
    made = peer.make("pull", RECONNECT_IVL=peer.LONG_MS, **beats)
    monitor = made.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED)
    made.connect(endpoint)
    recv_monitor_message(monitor)
    made.disable_monitor()
    peer.say("connected")
    return made, 6 * heartbeat_ms


def receive(made, count):
    tally = stream.Tally()
    for _ in range(count):
        tally.add(made.recv_multipart())
    made.close()
    peer.say("tally", tally)


def hoard(endpoint, count, seed):
    made, source, tally = peer.make("push", SNDHWM=0), stream.Stream(seed), stream.Tally()
    made.connect(endpoint)
    for _ in range(count):
        frames = source.draw()
        made.send_multipart(frames)
        tally.add(frames)
    peer.say("tally", tally)
    made.close(linger=peer.LONG_MS)


for line in sys.stdin:
    word, *arguments = line.split()
    if word == "pull":
        open_pull, pause_ms = pull(arguments[0], int(arguments[1]))
    elif word == "hoard":
        hoard(arguments[0], int(arguments[1]), int(arguments[2]))
    else:
        zmq.Poller().poll(pause_ms)
        receive(open_pull, int(arguments[0]))
peer.end()
