#!/usr/bin/env python3
"""Seals the Wi-Fi passwords of a request with HPKE (RFC 9180, base mode), as in Docs/integrator/protocol.md.

Reads one JSON object: type and body of a request with plain passwords, deviceId, sealing (the answer to key.agree), key
(the bytes of the app's key as hexadecimal digits), keyName unless it is the owner's, and optionally a fixed
ephemeralKey. Prints the body to send. Needs the package `cryptography`.
"""
import base64, hashlib, hmac, json, sys
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEM = b"KEM" + b"\x00\x20"  # DHKEM(X25519, HKDF-SHA256)
SUITE = b"HPKE" + b"\x00\x20" + b"\x00\x01" + b"\x00\x01"  # with HKDF-SHA256 and AES-128-GCM


def extract(salt, suite, label, ikm):
    return hmac.digest(salt or bytes(32), b"HPKE-v1" + suite + label + ikm, hashlib.sha256)


def expand(key, suite, label, info, length):
    info = length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info
    return hmac.digest(key, info + b"\x01", hashlib.sha256)[:length]


def hpke(recipient, ephemeral, info, aad, plaintext):
    encapsulated = ephemeral.public_key().public_bytes_raw()
    shared = ephemeral.exchange(X25519PublicKey.from_public_bytes(recipient))
    shared = expand(extract(b"", KEM, b"eae_prk", shared), KEM, b"shared_secret", encapsulated + recipient, 32)
    context = b"\x00" + extract(b"", SUITE, b"psk_id_hash", b"") + extract(b"", SUITE, b"info_hash", info)
    secret = extract(shared, SUITE, b"secret", b"")
    nonce = expand(secret, SUITE, b"base_nonce", context, 12)
    return encapsulated + AESGCM(expand(secret, SUITE, b"key", context, 16)).encrypt(nonce, plaintext, aad)


def context(place, device_id, network, body):
    """Returns the text that states the purpose of the box."""
    ssid = bytes.fromhex(network["ssidHex"]) if "ssidHex" in network else network["ssid"].encode()
    address = network.get("address")
    if address:
        servers = ",".join(address.get("nameServers", []))
        address = f'{address["address"]} {address.get("gateway", "")} {servers}'
    switch = body if place == "network.switch" else {}
    fields = {
        "device": device_id, "ssid": ssid.hex(), "credential": "password", "security": network.get("security"),
        "hidden": int(network.get("hidden", False)), "address": address,
        "revision": None if switch else body.get("ifRevision"), "confirmWithin": switch.get("confirmWithin"),
        "joinOnce": int(switch.get("joinOnce", False)), "besideUplink": int(switch.get("besideUplink", False)),
    }
    lines = [f'{name}={"" if value is None else value}' for name, value in fields.items()]
    return "\n".join([f"altnet/1 {place}"] + lines)


def seal(place, network, given):
    """Returns the network with its password in a box, which is valid only for this place of this request."""
    if "password" not in network:
        return network
    text = context(place, given["deviceId"], network, given["body"]).encode()
    ephemeral = X25519PrivateKey.generate()
    if "ephemeralKey" in given:
        ephemeral = X25519PrivateKey.from_private_bytes(bytes.fromhex(given["ephemeralKey"]))
    password = network["password"].encode().ljust(64, b"\x00")
    box = hpke(base64.b64decode(given["sealing"]["publicKey"]), ephemeral, b"altnet/1 seal", text, password)
    message = b"altnet/1 box" + hashlib.sha256(text).digest() + box
    proof = hmac.digest(bytes.fromhex(given["key"]), message, hashlib.sha256)
    sealed = {"keyId": given["sealing"]["keyId"], "box": base64.b64encode(box).decode()}
    if given.get("keyName", "owner") != "owner":
        sealed["key"] = given["keyName"]
    sealed["proof"] = base64.b64encode(proof).decode()
    return {name: value for name, value in network.items() if name != "password"} | {"sealed": sealed}


def sealed_body(given):
    body = given["body"]
    if given["type"] == "network.switch":
        return seal("network.switch", body, given)
    if "networks" in body:
        body = body | {"networks": [seal("backups.update", network, given) for network in body["networks"]]}
    if "home" in body:
        body = body | {"home": seal("backups.update home", body["home"], given)}
    return body


if __name__ == "__main__":
    print(json.dumps(sealed_body(json.load(sys.stdin)), ensure_ascii=False))
