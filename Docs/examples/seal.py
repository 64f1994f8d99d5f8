#!/usr/bin/env python3
"""Seals a Wi-Fi password as Docs/protocol.md says, with HPKE (RFC 9180, PSK mode) from its parts.

Reads one JSON object: publicKey, localKey, password, and ephemeralKey where that is to be a given one (in hexadecimal
digits, as ssidHex is), deviceId as text. Prints the box. Needs the package `cryptography`.
"""
import base64, hashlib, hmac, json, sys
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

KEM = b"KEM" + b"\x00\x20"  # DHKEM(X25519, HKDF-SHA256)
SUITE = b"HPKE" + b"\x00\x20" + b"\x00\x01" + b"\x00\x03"  # HKDF-SHA256 and ChaCha20-Poly1305 beside it


def extract(salt, suite, label, ikm):
    return hmac.digest(salt or bytes(32), b"HPKE-v1" + suite + label + ikm, hashlib.sha256)


def expand(key, suite, label, info, length):
    info = length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info
    return hmac.digest(key, info + b"\x01", hashlib.sha256)[:length]


def seal(recipient, ephemeral, psk, psk_id, info, aad, plaintext):
    encapsulated = ephemeral.public_key().public_bytes_raw()
    shared = ephemeral.exchange(X25519PublicKey.from_public_bytes(recipient))
    shared = expand(extract(b"", KEM, b"eae_prk", shared), KEM, b"shared_secret", encapsulated + recipient, 32)
    context = b"\x01" + extract(b"", SUITE, b"psk_id_hash", psk_id) + extract(b"", SUITE, b"info_hash", info)
    secret = extract(shared, SUITE, b"secret", psk)
    nonce = expand(secret, SUITE, b"base_nonce", context, 12)
    return encapsulated + ChaCha20Poly1305(expand(secret, SUITE, b"key", context, 32)).encrypt(nonce, plaintext, aad)


given = json.load(sys.stdin)
public_key, local_key, ssid, password = (
    bytes.fromhex(given[name]) for name in ("publicKey", "localKey", "ssidHex", "password"))
if "ephemeralKey" in given:
    ephemeral = X25519PrivateKey.from_private_bytes(bytes.fromhex(given["ephemeralKey"]))
else:
    ephemeral = X25519PrivateKey.generate()
box = seal(public_key, ephemeral, local_key, given["deviceId"].encode(), b"altnet/1", ssid, password.ljust(64, b"\x00"))
print(base64.b64encode(box).decode())
