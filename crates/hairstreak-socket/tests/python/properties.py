"""DEALER that asks once and says which properties the ROUTER told it in the handshake:

properties.py bind|connect ENDPOINT SERVER_KEY PUBLIC SECRET NAME... (keys "-": no CURVE)"""

import sys

import peer

how, endpoint, *keys = sys.argv[1:6]
dealer = peer.make("dealer")
if keys != ["-", "-", "-"]:
    dealer.curve_serverkey, dealer.curve_publickey, dealer.curve_secretkey = (key.encode() for key in keys)
peer.join(dealer, how, endpoint)
dealer.send(b"a question")
answer = dealer.recv(copy=False)
assert answer.bytes == b"an answer", answer.bytes
peer.say("told", *(f"{name}={answer.get(name)}" for name in sys.argv[6:]))
sys.stdin.readline()
peer.end()
