"""The other side of a TLS connection, by Python's ssl (OpenSSL): `client VERSION PORT` or `server VERSION`.

It sends back, when its peer has ended its output, everything that came, and then ends its own; prints what it knows of the
connection. `silent` behind the version: it leaves without close_notify.
"""

import os
import socket
import ssl
import sys

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "certificates")
ROLE, VERSION, *REST = sys.argv[1:]


def context():
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT if ROLE == "client" else ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = made.maximum_version = getattr(ssl.TLSVersion, VERSION)
    made.load_verify_locations(os.path.join(HERE, "ca.pem"))
    name = ROLE if ROLE == "client" else "server"
    made.load_cert_chain(os.path.join(HERE, name + ".pem"), os.path.join(HERE, name + ".key"))
    made.verify_mode = ssl.CERT_REQUIRED
    made.set_alpn_protocols(["spoken"])
    return made


def serve(plain):
    names = {"server_hostname": "localhost"} if ROLE == "client" else {"server_side": True}
    with context().wrap_socket(plain, suppress_ragged_eofs=False, **names) as tls:
        common_name = dict(part[0] for part in tls.getpeercert()["subject"])["commonName"]
        print(tls.version(), tls.selected_alpn_protocol(), common_name, flush=True)
        received = bytearray()
        while part := tls.recv(65536):
            received += part
        tls.sendall(received)
        if "silent" not in REST:
            tls.unwrap().close()


if ROLE == "client":
    serve(socket.create_connection(("127.0.0.1", int(REST[0]))))
else:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(listener.getsockname()[1], flush=True)
        serve(listener.accept()[0])
