"""Says the names of all options that libzmq and pyzmq know, on one line."""

import peer
import zmq

names = [option.name for kind in (zmq.SocketOption, zmq.ContextOption) for option in kind]
peer.say("options", *names)
