"""Watches a connection that is left alone: watch.py push|pull bind|connect ENDPOINT HEARTBEAT_MS TIMEOUT_MS

Says "connected" when the handshake is over. Told "watch MS", says how many connections ended in that
time; told "send WORD", sends it; told "receive COUNT", says the tally."""

import sys
import time

import peer
import stream
import zmq
from zmq.utils.monitor import recv_monitor_message

role, join, endpoint, heartbeat_ms, timeout_ms = sys.argv[1:6]
end = peer.make(role, HEARTBEAT_IVL=int(heartbeat_ms), HEARTBEAT_TIMEOUT=int(timeout_ms))
monitor = end.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED)
peer.join(end, join, endpoint)
assert recv_monitor_message(monitor)["event"] == zmq.EVENT_HANDSHAKE_SUCCEEDED
peer.say("connected")

for line in sys.stdin:
    word, argument = line.split()
    if word == "watch":
        until, ended = time.monotonic() + int(argument) / 1000, 0
        while monitor.poll(max(0, (until - time.monotonic()) * 1000)):
            ended += recv_monitor_message(monitor)["event"] == zmq.EVENT_DISCONNECTED
        peer.say("ended", ended)
    elif word == "send":
        end.send_string(argument)
    else:
        tally = stream.Tally()
        for _ in range(int(argument)):
            tally.add(end.recv_multipart())
        peer.say("tally", tally)
end.disable_monitor()
peer.end()
