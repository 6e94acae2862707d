"""A libzmq STREAM: plain.py bind|connect ENDPOINT COUNT

Sends COUNT pieces and checks the echo, closes the connection, gets another one when it is told to go on (the other
side comes again, or it connects again itself), says hello, and expects to be told bye and that it is over."""

import select
import sys

import peer

how, endpoint, count = sys.argv[1:4]


def notice(end):
    name, data = end.recv_multipart()
    assert data == b"", data
    return name


def receive(end, name, size):
    got = b""
    while len(got) < size:
        source, data = end.recv_multipart()
        assert source == name and data, "the end"
        got += data
    return got


end = peer.make("stream")
peer.join(end, how, endpoint)
name = notice(end)
for number in range(int(count)):
    size = 100_000 if number % 50 == 0 else 1 + number % 300
    piece = (b"%d:" % number + bytes(range(256)) * (size // 256 + 1))[:size]
    end.send_multipart([name, piece])
    assert receive(end, name, size) == piece, number
peer.say("echoed")
end.send_multipart([name, b""])
peer.say("closed")
# libzmq closes only while somebody calls it.
while not select.select([sys.stdin], [], [], 0.01)[0]:
    end.poll(0)
sys.stdin.readline()
if how == "connect":
    end.connect(endpoint)
name = notice(end)
end.send_multipart([name, b"hello"])
assert receive(end, name, 3) == b"bye"
assert notice(end) == name
peer.say("notified")
end.close(linger=0)
