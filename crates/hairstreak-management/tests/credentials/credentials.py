"""Majordomo (RFC 7, RFC 18) and HSD1 on raw pyzmq sockets, with credentials.

credentials.py worker ENDPOINT VERSION SERVICE      says what happens, a line each
credentials.py client ENDPOINT VERSION SERVICE TIME  prints the reply, or `nothing` after so many milliseconds
credentials.py directory ENDPOINT VERB NAME TIME    prints the reply, or `nothing` after so many milliseconds
credentials.py stranger ENDPOINT                    with a key that nobody knows: prints how the handshake ends

Behind that: null, plain USER PASSWORD, or curve SERVER-KEY PUBLIC-KEY SECRET-KEY
"""

import struct
import sys

import zmq
from zmq.utils.monitor import recv_monitor_message


def secure(socket, words):
    if words[0] == "plain":
        socket.plain_username, socket.plain_password = words[1].encode(), words[2].encode()
    elif words[0] == "curve":
        socket.curve_serverkey, socket.curve_publickey, socket.curve_secretkey = (word.encode() for word in words[1:])


def open_socket(kind, endpoint, words):
    socket = zmq.Context.instance().socket(kind)
    socket.linger = 0
    secure(socket, words)
    socket.connect(endpoint)
    return socket


def say(line):
    print(line, flush=True)


def worker(endpoint, version, service, *words):
    front = [b"", b"MDPW01"] if version == "0.1" else [b"MDPW02"]
    request, final, heartbeat, disconnect = (
        (b"\x02", b"\x03", b"\x04", b"\x05") if version == "0.1" else (b"\x02", b"\x04", b"\x05", b"\x06")
    )
    socket = open_socket(zmq.DEALER, endpoint, words)
    socket.send_multipart(front + [b"\x01", service.encode()])
    say("ready")
    while True:
        if not socket.poll(500):
            socket.send_multipart(front + [heartbeat])
            continue
        command, *rest = socket.recv_multipart()[len(front):]
        if command == request:
            client, _empty, body = rest
            socket.send_multipart(front + [final, client, b"", body.upper()])
        elif command == disconnect:
            say("told to go")
            return


def client(endpoint, version, service, patience_ms, *words):
    socket = open_socket(zmq.DEALER, endpoint, words)
    front = [b"", b"MDPC01"] if version == "0.1" else [b"MDPC02", b"\x01"]
    body = b"echo" if service.startswith("mmi.") else b"hello"
    socket.send_multipart(front + [service.encode(), body])
    say(socket.recv_multipart()[-1].decode() if socket.poll(int(patience_ms)) else "nothing")


def directory(endpoint, verb, name, patience_ms, *words):
    socket = open_socket(zmq.REQ, endpoint, words)
    owner, place = b"o" * 16, b"tcp://10.0.0.1:7"
    fields = {
        "REGISTER": [name.encode(), owner, struct.pack(">I", 60_000), place],
        "UNREGISTER": [name.encode(), owner],
        "LOOKUP": [name.encode(), struct.pack(">I", 0)],
        "LIST": [b"", b""],
    }[verb]
    socket.send_multipart([b"HSD1", b"", verb.encode(), *fields])
    if not socket.poll(int(patience_ms)):
        return say("nothing")
    _protocol, _id, verb, *fields = (field.decode(errors="replace") for field in socket.recv_multipart())
    if verb == "FOUND":
        say(f"FOUND {fields[1]}")
    elif verb == "ERROR":
        say(f"ERROR {fields[0]}")
    else:
        say(" ".join([verb, *fields[1::2]]) if verb == "LIST" else verb)


def stranger(endpoint, *words):
    socket = zmq.Context.instance().socket(zmq.DEALER)
    socket.linger = 0
    public, secret = zmq.curve_keypair()
    secure(socket, [words[0], words[1], public.decode(), secret.decode()])
    monitor = socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_FAILED_AUTH)
    socket.connect(endpoint)
    say(f"refused {recv_monitor_message(monitor)['value']}")


{"worker": worker, "client": client, "directory": directory, "stranger": stranger}[sys.argv[1]](*sys.argv[2:])
