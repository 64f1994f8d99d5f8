#!/usr/bin/env python3
"""Does the same as client.py over a WebSocket (RFC 6455), with nothing but Python's standard library.

    websocket.py HOST PORT KEY_FILE TYPE [BODY]

A client with a WebSocket library does not need `begin`: it connects to wss://HOST:PORT/altnet. The library has to show
you the certificate, because the proofs need it. A browser does not show it.
"""
import base64, hashlib, os, struct, sys
from client import Device, DeviceError, run

TEXT, CLOSE, PING, PONG = 1, 8, 9, 10


class WebSocketDevice(Device):
    """A session with one line in each message. The device does not split its messages."""

    PROTOCOL = "http/1.1"

    def begin(self):
        key = base64.b64encode(os.urandom(16))
        self.stream.write(
            b"GET /altnet HTTP/1.1\r\nHost: altnet\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + key + b"\r\n\r\n")
        self.stream.flush()
        status = self.stream.readline()
        headers = {}
        while (line := self.stream.readline().strip()):
            name, _, value = line.partition(b":")
            headers[name.lower()] = value.strip()
        accept = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
        if b" 101 " not in status or headers.get(b"sec-websocket-accept") != accept:
            raise DeviceError("notTheDevice", "no WebSocket is here")

    def read_line(self):
        while True:
            head = self.stream.read(2)
            if len(head) < 2:
                return b""
            opcode, length = head[0] & 15, head[1] & 127
            if length == 126:
                length, = struct.unpack(">H", self.stream.read(2))
            elif length == 127:
                length, = struct.unpack(">Q", self.stream.read(8))
            data = self.stream.read(length)
            if opcode == TEXT:
                return data
            if opcode == CLOSE:
                return b""
            if opcode == PING:
                self.write_frame(PONG, data)

    def write_line(self, line):
        self.write_frame(TEXT, line)

    def write_frame(self, opcode, data):
        """Sends a frame. A client has to mask its frames."""
        length, mask = len(data), os.urandom(4)
        if length < 126:
            head = struct.pack(">BB", 128 | opcode, 128 | length)
        elif length < 65536:
            head = struct.pack(">BBH", 128 | opcode, 254, length)
        else:
            head = struct.pack(">BBQ", 128 | opcode, 255, length)
        self.stream.write(head + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(data)))
        self.stream.flush()


if __name__ == "__main__":
    if len(sys.argv) not in (5, 6):
        sys.exit(__doc__)
    run(WebSocketDevice, sys.argv[1:])
