"""One end of a proxy: proxied.py ROLE ENDPOINT COUNT

req asks COUNT questions and checks the answers, rep answers COUNT of them; pub waits for its subscriber, then
sends COUNT messages, sub receives COUNT; push sends COUNT, pull receives COUNT in order; steer
says each line it reads to a REP and prints what comes back."""

import sys

import peer

role, endpoint, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
kinds = {"steer": "req", "pub": "xpub"}
end = peer.make(kinds.get(role, role))
if role == "sub":
    end.subscribe(b"topic")
end.connect(endpoint)

if role == "req":
    for number in range(count):
        end.send_multipart([b"%d" % number, b"", b"x" * (number % 2000)])
        assert end.recv_multipart() == [b"re:", b"%d" % number, b"", b"x" * (number % 2000)], number
elif role == "rep":
    for number in range(count):
        end.send_multipart([b"re:"] + end.recv_multipart())
elif role == "pub":
    assert end.recv() == b"\x01topic"
    peer.say("subscribed")
    for number in range(count):
        end.send_multipart([b"other", b"not this"])
        end.send_multipart([b"topic", b"%d" % number])
elif role == "sub":
    for number in range(count):
        assert end.recv_multipart() == [b"topic", b"%d" % number], number
elif role == "push":
    for number in range(count):
        end.send_multipart([b"%d" % number, b"y" * (number * 7 % 20000)])
elif role == "pull":
    for number in range(count):
        assert end.recv_multipart() == [b"%d" % number, b"y" * (number * 7 % 20000)], number
elif role == "steer":
    for line in sys.stdin:
        end.send_string(line.strip())
        frames = end.recv_multipart()
        if len(frames) == 8:
            peer.say("numbers", *[int.from_bytes(frame, sys.byteorder) for frame in frames])
        else:
            peer.say("heard", frames[0].decode())
peer.say("done")
peer.end()
