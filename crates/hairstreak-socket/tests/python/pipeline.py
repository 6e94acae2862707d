"""PUSH or PULL of a cell: pipeline.py push|pull bind|connect ENDPOINT COUNT [SEED]"""

import sys

import peer
import stream

role, join, endpoint, count = sys.argv[1:5]
tally = stream.Tally()
if role == "push":
    source = stream.Stream(int(sys.argv[5]))
    push = peer.socket("PUSH", join, endpoint)
    for _ in range(int(count)):
        frames = source.draw()
        push.send_multipart(frames)
        tally.add(frames)
else:
    pull = peer.socket("PULL", join, endpoint)
    for _ in range(int(count)):
        tally.add(pull.recv_multipart())
peer.say("tally", tally)
peer.end()
