#!/usr/bin/env python3
"""Asks an altnet device in the network, with nothing but Python's standard library (3.8).

    client.py HOST PORT KEY_FILE TYPE [BODY]     such as:  client.py 192.0.2.7 25863 lamp.key network.get

KEY_FILE holds the device's pairing code: altnet://pair?v=1&id=...&key=...&cert=...
"""
import base64, hashlib, hmac, json, os, socket, ssl, sys, urllib.parse


class Device:
    """A session with a device. Raises ConnectionError where the other side is not the device."""

    def __init__(self, host, port, code):
        pairing = urllib.parse.parse_qs(urllib.parse.urlsplit(code).query, encoding="latin-1")
        value = lambda name: pairing[name][0].encode("latin-1") if name in pairing else None
        device_id, key, name = value("id").decode(), value("key"), (value("name") or b"owner").decode()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # What is checked is the fingerprint.
        tls = context.wrap_socket(socket.create_connection((host, port), timeout=30))
        certificate = hashlib.sha256(tls.getpeercert(binary_form=True))
        if value("cert") and certificate.hexdigest() != value("cert").decode():
            raise ConnectionError("another certificate: was the device reset, or is this another host?")
        self.stream, self.count = tls.makefile("rwb"), 0

        # Each side shows that it has the key, for this certificate and this connection alone.
        theirs, ours = base64.b64decode(self.line()["nonce"]), os.urandom(32)
        proof = lambda side: hmac.new(
            key, f"altnet/1 {side}".encode() + certificate.digest() + theirs + ours + device_id.encode(), hashlib.sha256)
        encode = lambda data: base64.b64encode(data).decode()
        opened = self.ask("session.open", {
            "deviceId": device_id, "key": name, "nonce": encode(ours), "proof": encode(proof("app").digest())})
        if not hmac.compare_digest(base64.b64decode(opened["proof"]), proof("device").digest()):
            raise ConnectionError("the other side has not proved that it has the key")

    def line(self):
        line = self.stream.readline()
        if not line:
            raise ConnectionError("the device has closed the connection")
        return json.loads(line)

    def ask(self, kind, body=None):
        """The body of the answer. Raises RuntimeError with the device's error. Events that come before it are left out."""
        self.count += 1
        request = {"v": 1, "id": str(self.count), "type": kind}
        self.stream.write(json.dumps(request if body is None else {**request, "body": body}).encode() + b"\n")
        self.stream.flush()
        answer = self.line()
        while "event" in answer:
            answer = self.line()
        if not answer["ok"]:
            raise RuntimeError(json.dumps(answer["error"]))
        return answer["body"]


if __name__ == "__main__":
    host, port, key_file, kind, *body = sys.argv[1:]
    with open(key_file) as file:
        code = file.readline().strip()
    try:
        answer = Device(host, int(port), code).ask(kind, *map(json.loads, body))
    except (RuntimeError, OSError) as error:
        sys.exit(str(error))
    print(json.dumps(answer, indent=2, ensure_ascii=False))
