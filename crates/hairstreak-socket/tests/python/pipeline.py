"""One end of a cell: pipeline.py push|pull bind|connect ENDPOINT COUNT [SEED]

Sends or receives COUNT messages and says the tally."""

import sys

import peer
import stream

role, join, endpoint, count = sys.argv[1:5]
tally = stream.Tally()
if role == "pull":
    pull = peer.make("pull")
    peer.join(pull, join, endpoint)
    for _ in range(int(count)):
        tally.add(pull.recv_multipart())
else:
    push = peer.make("push")
    peer.join(push, join, endpoint)
    source = stream.Stream(int(sys.argv[5]))
    for _ in range(int(count)):
        frames = source.draw()
        push.send_multipart(frames)
        tally.add(frames)
peer.say("tally", tally)
peer.end()
