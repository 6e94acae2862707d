"""PUSH that sends each word it is told: say.py bind|connect ENDPOINT"""

import sys

import peer

push = peer.make("push")
peer.join(push, *sys.argv[1:3])
for line in sys.stdin:
    push.send_string(line.strip())
peer.end()
