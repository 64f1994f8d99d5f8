#!/usr/bin/env python3
"""Asks an altnet device in the network, with nothing but Python's standard library (3.9).

    client.py HOST PORT KEY_FILE TYPE [BODY]     such as:  client.py 192.0.2.7 25863 lamp.key network.get
    client.py --check vectors.json

KEY_FILE holds a pairing code: altnet://pair?v=1&id=...&key=...&cert=... Passwords in BODY are sealed by seal.py beside
this file, which needs the package `cryptography`. An error is one line, `code: message`, with exit status 1.
"""
import base64, hashlib, hmac, json, os, socket, ssl, sys, urllib.parse


class DeviceError(Exception):
    """An error that the device has answered, or the reason why the other side is not the device."""

    def __init__(self, code, message):
        super().__init__(f"{code}: {message}")
        self.code = code


class Pairing:
    """A pairing code: `id`, the raw bytes of `key`, the `name` of the key, and `cert`, a SHA-256 or None."""

    def __init__(self, code):
        path, _, query = code.strip().partition("?")
        # parse_qs would not do: the key is bytes, not text, and a plus sign is not a space.
        values = dict(item.partition("=")[::2] for item in query.split("&"))
        values = {name: urllib.parse.unquote_to_bytes(value) for name, value in values.items()}
        if path.lower() != "altnet://pair" or values.get("v") != b"1" or not values.keys() >= {"id", "key"}:
            raise DeviceError("malformed", "this is not a pairing code")
        self.id, self.key, self.name = values["id"].decode(), values["key"], values.get("name", b"owner").decode()
        self.cert = bytes.fromhex(values["cert"].decode()) if "cert" in values else None

    def proof(self, *parts):
        """Returns the HMAC-SHA256 with the key, as Base64."""
        return encode(hmac.digest(self.key, b"".join(parts), "sha256"))

    def opening_proof(self, side, certificate, device_nonce, app_nonce):
        return self.proof(b"altnet/1 " + side, certificate, device_nonce, app_nonce, self.id.encode())

    def agreement_proof(self, public_key, nonce):
        return self.proof(b"altnet/1 key", public_key, nonce, self.id.encode())


def encode(data):
    return base64.b64encode(data).decode()


class Device:
    """A session with a device. Raises DeviceError, and OSError if the network fails."""

    PROTOCOL = "altnet"

    def __init__(self, host, port, pairing):
        self.pairing, self.count = pairing, 0
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # The fingerprint is checked below.
        context.set_alpn_protocols([self.PROTOCOL])
        self.tls = context.wrap_socket(socket.create_connection((host, port), timeout=30))
        certificate = hashlib.sha256(self.tls.getpeercert(binary_form=True)).digest()
        if pairing.cert is not None and certificate != pairing.cert:
            raise DeviceError("certificateChanged", "pair again if the device was reset; else this is another host")
        self.stream = self.tls.makefile("rwb")
        self.begin()

        # Each side proves that it has the key. A proof is valid only for this certificate and this connection.
        theirs, ours = base64.b64decode(self.receive()["nonce"]), os.urandom(32)
        proof = lambda side: pairing.opening_proof(side, certificate, theirs, ours)
        opened = self.ask("session.open", {
            "deviceId": pairing.id, "key": pairing.name, "nonce": encode(ours), "proof": proof(b"app")})
        if not hmac.compare_digest(opened["proof"].encode(), proof(b"device").encode()):
            raise DeviceError("notTheDevice", "the other side has not proved that it has the key")

    def begin(self):
        """Does nothing. A subclass overrides it if its framing begins with more than TLS."""

    def read_line(self):
        return self.stream.readline()

    def write_line(self, line):
        self.stream.write(line + b"\n")
        self.stream.flush()

    def receive(self):
        line = self.read_line()
        if not line:
            raise ConnectionError("the device has closed the connection")
        line = json.loads(line)
        if "error" in line:
            raise DeviceError(line["error"]["code"], line["error"]["message"])
        return line

    def ask(self, kind, body=None):
        """Returns the body of the answer. Skips events that come before it."""
        self.count += 1
        request = {"v": 1, "id": str(self.count), "type": kind}
        self.write_line(json.dumps(request if body is None else {**request, "body": body}).encode())
        answer = self.receive()
        while "event" in answer:
            answer = self.receive()
        return answer["body"]

    def ask_sealed(self, kind, body):
        """Like `ask`, for a request with Wi-Fi passwords. The device accepts them only in boxes."""
        import seal

        nonce = os.urandom(32)
        sealing = self.ask("key.agree", {"key": self.pairing.name, "nonce": encode(nonce)})
        proof = self.pairing.agreement_proof(base64.b64decode(sealing["publicKey"]), nonce)
        if not hmac.compare_digest(sealing["proof"].encode(), proof.encode()):
            raise DeviceError("notTheDevice", "the key to seal with is not the device's")
        return self.ask(kind, seal.sealed_body({
            "type": kind, "body": body, "deviceId": self.pairing.id, "sealing": sealing,
            "key": self.pairing.key.hex(), "keyName": self.pairing.name}))


def run(device_type, arguments):
    host, port, key_file, kind, *body = arguments
    try:
        with open(key_file) as file:
            device = device_type(host, int(port), Pairing(file.readline()))
        ask = device.ask_sealed if body and '"password"' in body[0] else device.ask
        answer = ask(kind, *map(json.loads, body))
    except DeviceError as error:
        sys.exit(str(error))
    except (OSError, ValueError, LookupError, TypeError) as error:
        sys.exit(f"failed: {error}")
    print(json.dumps(answer, indent=2, ensure_ascii=False))


def check(path):
    """Compares the values that this file computes with the vectors."""
    with open(path) as file:
        vectors = json.load(file)
    for pairing in vectors["pairing"]:
        read = Pairing(pairing["code"])
        assert (read.id, read.key.hex(), read.name) == (pairing["deviceId"], pairing["key"], pairing["name"])
        assert (read.cert and read.cert.hex()) == pairing.get("cert")
    opening, agreement = vectors["opening"], vectors["agreement"]
    certificate = hashlib.sha256(base64.b64decode(opening["certificate"])).digest()
    nonces = [base64.b64decode(opening[name]) for name in ("deviceNonce", "appNonce")]
    for side in (b"app", b"device"):
        proof = Pairing(opening["code"]).opening_proof(side, certificate, *nonces)
        assert proof == opening[side.decode() + "Proof"], side
    parts = [base64.b64decode(agreement[name]) for name in ("publicKey", "nonce")]
    assert Pairing(agreement["code"]).agreement_proof(*parts) == agreement["proof"]
    import seal

    for vector in vectors["sealing"]:
        pairing = Pairing(vector["code"])
        given = {**vector, "deviceId": pairing.id, "key": pairing.key.hex(), "keyName": pairing.name}
        assert seal.sealed_body(given) == vector["sealedBody"], vector["type"]
    print("ok")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--check"]:
        check(sys.argv[2])
    elif len(sys.argv) in (5, 6):
        run(Device, sys.argv[1:])
    else:
        sys.exit(__doc__)
