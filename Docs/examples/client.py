#!/usr/bin/env python3
"""Asks an altnet device in the network, with nothing but Python's standard library (3.13; before that through openssl).

    client.py HOST PORT DEVICE_ID KEY_FILE TYPE [BODY]    such as:  client.py 192.0.2.7 25863 bench-01 local-key network.get
"""
import json, socket, ssl, subprocess, sys

CIPHER = "ECDHE-PSK-CHACHA20-POLY1305"


def connect(host, port, device_id, key):
    """A file to read lines from and one to write lines to."""
    if hasattr(ssl.SSLContext, "set_psk_client_callback"):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # It is the key that proves who answers.
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers(CIPHER)
        context.set_psk_client_callback(lambda hint: (device_id, key))
        stream = context.wrap_socket(socket.create_connection((host, port), timeout=10)).makefile("rwb")
        return stream, stream
    # Every user who can list this machine's processes sees the key.
    program = ["openssl", "s_client", "-quiet", "-tls1_2", "-cipher", CIPHER, "-connect", f"[{host}]:{port}"]
    program += ["-psk_identity", device_id, "-psk", key.hex()]
    openssl = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return openssl.stdout, openssl.stdin


host, port, device_id, key_file, kind, *body = sys.argv[1:]
with open(key_file, "rb") as file:
    reading, writing = connect(host, int(port), device_id, file.read().rstrip(b"\n"))
request = {"v": 1, "id": "1", "type": kind} | ({"body": json.loads(body[0])} if body else {})
writing.write(json.dumps(request).encode() + b"\n")
writing.flush()
answer = json.loads(reading.readline() or sys.exit("no answer: is the key the device's?"))
print(json.dumps(answer.get("body", answer.get("error")), indent=2, ensure_ascii=False))
sys.exit(0 if answer["ok"] else 1)
