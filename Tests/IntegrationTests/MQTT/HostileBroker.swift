import Foundation
import Glibc
import Synchronization

/// A broker that does what none should, one connection after the other.
final class HostileBroker: Sendable {
    private let listener: Mutex<Int32>
    private let served = Mutex(0)

    init(port: Int) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.listener = Mutex(listener)
        var yes: Int32 = 1
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, 4)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        var patience = timeval(tv_sec: 15, tv_usec: 0)
        setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        // What it does not read is soon too much for the kernel.
        var room: Int32 = 4096
        setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &room, 4)
        guard bound == 0, listen(listener, 8) == 0 else { throw POSIXError(.EADDRINUSE) }
    }

    deinit { stop() }

    /// Leaves the port to another.
    func stop() {
        listener.withLock { listener in
            if listener >= 0 { close(listener) }
            listener = -1
        }
    }

    /// CONNACK of MQTT 5 without properties.
    private static let accepted: [UInt8] = [0x20, 3, 0, 0, 0]
    /// SUBACK of the first subscription, and PUBACKs.
    private static let packets: [[UInt8]] = [
        [0x90, 4, 0, 1, 0, 1], [0x40, 2, 0, 1], [0x40, 2, 0xff, 0xff], [0xd0, 0], [0xe0, 0], [0xe0, 1, 0x8d],
        [0xf0, 0], [0x00, 0], [0x10, 0], [0x82, 0], [0x62, 2, 0, 1], [0x50, 2, 0, 1],
        // A PUBLISH whose topic is longer than itself, one without a topic, one that is no UTF-8, one with a topic of NUL.
        [0x30, 3, 0xff, 0xff, 0], [0x30, 3, 0, 0, 0], [0x30, 5, 0, 2, 0xc0, 0x80, 0], [0x30, 4, 0, 1, 0, 0],
        // A remaining length that does not end.
        [0x30, 0xff, 0xff, 0xff, 0xff, 0xff],
        // Properties that are longer than the packet; one that is twice there.
        [0x30, 6, 0, 1, 0x61, 0xff, 0xff, 0x03], [0x30, 14, 0, 1, 0x61, 10, 2, 0, 0, 0, 1, 2, 0, 0, 0, 1],
    ]

    /// Serves a connection for each way to be a bad broker, and returns then, or when none has come for 15 s.
    /// - Returns: how many have come.
    func serveAll() -> Int {
        served.withLock { $0 = 0 }
        serve { _ in }
        serve { self.read($0) }
        for answer: [UInt8] in [
            [0x20], [0x20, 3], Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), [0x20, 2, 0, 0], [0x20, 3, 0, 0x88, 0],
        ] {
            serve {
                self.read($0); self.write(answer, $0)
            }
        }
        // It says that it takes messages of 10 bytes, one at a time, keeps none and acknowledges none.
        serve {
            self.read($0)
            self.write([0x20, 14, 0, 0, 11, 0x27, 0, 0, 0, 10, 0x21, 0, 1, 0x24, 0, 0x25, 0].prefix(16) + [0], $0)
            self.read($0)
        }
        for packet in Self.packets {
            serve {
                self.read($0)
                self.write(Self.accepted + packet, $0)
                self.read($0)
            }
        }
        // 256 MB, less one byte, of which 60 come.
        serve { descriptor in
            self.read(descriptor)
            self.write(Self.accepted + [0x30, 0xff, 0xff, 0xff, 0x7f, 0, 1, 0x61, 0], descriptor)
            let much = [UInt8](repeating: 0x61, count: 1 << 20)
            for _ in 0..<60 where self.write(much, descriptor) {}
        }
        // 8 MB, which fit, and are more than it was told to send.
        serve { descriptor in
            self.read(descriptor)
            self.write(Self.accepted + [0x30, 0x84, 0x80, 0x80, 0x04, 0, 1, 0x61, 0], descriptor)
            let much = [UInt8](repeating: 0x61, count: 1 << 20)
            for _ in 0..<8 where self.write(much, descriptor) {}
            self.read(descriptor)
        }
        // Two million messages that are to be acknowledged, to which it reads no answer.
        let flood = Array([[UInt8]](repeating: [0x32, 6, 0, 1, 0x61, 0, 1, 0], count: 8192).joined())
        serve { descriptor in
            self.write(Self.accepted, descriptor)
            for _ in 0..<256 where self.write(flood, descriptor) {}
        }
        // Messages of 2 MB that wait to be released (QoS 2), fewer than may be on their way.
        serve { descriptor in
            self.read(descriptor)
            self.write(Self.accepted, descriptor)
            let payload = [UInt8](repeating: 0x61, count: 2 << 20)
            for number in UInt8(1)...15 {
                let head: [UInt8] = [0x34, 0x86, 0x80, 0x80, 0x01, 0, 1, 0x61, 0, number, 0]
                guard self.write(head + payload, descriptor) else { break }
            }
        }
        // A thousand topics of 60,000 bytes, each with a number for later.
        serve { descriptor in
            self.read(descriptor)
            self.write(Self.accepted, descriptor)
            let topic = [UInt8](repeating: 0x61, count: 60_000)
            for number in UInt16(1)...1000 {
                let head: [UInt8] = [0x30, 0xe6, 0xd4, 0x03, 0xea, 0x60]
                let end: [UInt8] = [3, 0x23, UInt8(number >> 8), UInt8(number & 255)]
                guard self.write(head + topic + end, descriptor) else { break }
            }
        }
        return served.withLock { $0 }
    }

    /// The ways that there are.
    static let ways = 13 + packets.count

    private func serve(_ body: (Int32) -> Void) {
        let descriptor = accept(listener.withLock { $0 }, nil, nil)
        guard descriptor >= 0 else { return }
        served.withLock {
            $0 += 1
        }
        var limit = timeval(tv_sec: 0, tv_usec: 300_000)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var patience = timeval(tv_sec: 5, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        body(descriptor)
        close(descriptor)
    }

    private func read(_ descriptor: Int32) {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        _ = recv(descriptor, &bytes, bytes.count, 0)
    }

    @discardableResult
    private func write(_ bytes: some Collection<UInt8>, _ descriptor: Int32) -> Bool {
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}
