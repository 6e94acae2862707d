"""The other end of a request: reqrep.py req|dealer|rep|router bind|connect ENDPOINT COUNT [IDENTITY]

REQ and DEALER ask COUNT questions and check the answers; REP and ROUTER answer COUNT questions."""

import sys

import peer

role, join, endpoint, count = sys.argv[1:5]
options = {"IDENTITY": sys.argv[5].encode()} if len(sys.argv) > 5 else {}
end = peer.make(role, **options)
peer.join(end, join, endpoint)

if role == "req":
    for number in range(int(count)):
        end.send_string(str(number))
        assert end.recv() == b"re:%d" % number, number
elif role == "dealer":
    for number in range(int(count)):
        end.send_multipart([b"", str(number).encode()])
    for number in range(int(count)):
        assert end.recv_multipart() == [b"", b"re:%d" % number], number
elif role == "rep":
    for number in range(int(count)):
        end.send(b"re:" + end.recv())
else:
    for number in range(int(count)):
        identity, *frames = end.recv_multipart()
        if number == 0:
            peer.say("asked", identity.hex())
        end.send_multipart([identity, *frames])
peer.say("done")
peer.end()
