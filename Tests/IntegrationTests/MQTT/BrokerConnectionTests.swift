import BrokerIO
import Foundation
import Glibc
import Linux
import MQTTBridge
import TestTime
import Testing

/// The connection by libmosquitto to brokers that want it to keep things.
@Suite(.timeLimit(.minutes(10))) struct BrokerConnectionTests {
    /// The acknowledgements of messages would pile up for a broker that does not read them.
    @Test func nothingIsReadWhileTheBrokerReadsNothing() async throws {
        try await onThreadOfItsOwn {
            let link = try Link()
            let messages = Array([[UInt8]](repeating: [0x32, 6, 0, 1, 0x61, 0, 1, 0], count: 8192).joined())
            let broker = dup(link.broker)
            Thread.detachNewThread {
                while Link.write(messages, to: broker) {}
                close(broker)
            }
            while !link.isHeldUp { link.proceed() }
            _ = link.connection.drainEvents()
            for _ in 0..<100 { link.proceed() }
            #expect(link.connection.drainEvents().isEmpty)
        }
    }

    /// libmosquitto would keep a message until it is released (QoS 2), and the topic of an alias.
    @Test(arguments: [
        [0x34, 8, 0, 1, 0x61, 0, 1, 0, 0x62, 0x63], [0x30, 7, 0, 1, 0x61, 3, 0x23, 0, 1],
    ])
    func whatWouldBeKeptEndsTheConnection(packet: [UInt8]) async throws {
        try await onThreadOfItsOwn {
            let link = try Link()
            #expect(Link.write(packet, to: link.broker))
            var events: [Bridge.Event] = []
            while link.connection.wait != nil {
                link.proceed()
                events += link.connection.drainEvents()
            }
            #expect(events.contains { if case .brokerFailed = $0 { true } else { false } }, "\(events)")
            #expect(!events.contains { if case .message = $0 { true } else { false } }, "\(events)")
        }
    }

    /// A connection that its broker has accepted.
    private final class Link {
        let connection: BrokerConnection
        let broker: Int32

        init() throws {
            let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            defer { close(listener) }
            var room: Int32 = 4096
            setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &room, 4)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isBound = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(listener, $0, length) == 0 && listen(listener, 1) == 0
                        && getsockname(listener, $0, &length) == 0
                }
            }
            try #require(isBound)
            let hello = BrokerHello(
                clientID: "pump", keepAlive: .seconds(600), sessionExpiry: .zero, maximumPacket: BridgeLimits.packet,
                receiveMaximum: BridgeLimits.inFlight, will: nil, willDelay: .zero)
            let place = try #require(BrokerAddress("mqtt://127.0.0.1:\(UInt16(bigEndian: address.sin_port))"))
            connection = try BrokerConnection(hello, to: place, user: nil, BrokerSecrets(authorities: nil))
            broker = accept(listener, nil, nil)
            try #require(broker >= 0)
            // CONNACK of MQTT 5 without properties.
            #expect(Self.write([0x20, 3, 0, 0, 0], to: broker))
            while !connection.drainEvents().contains(where: { if case .brokerAccepted = $0 { true } else { false } }) {
                proceed()
            }
        }

        deinit {
            shutdown(broker, Int32(SHUT_RDWR))
            close(broker)
        }

        /// Waits for what the connection waits for, a short time, and goes on.
        func proceed() {
            guard let wait = connection.wait else { return }
            connection.proceed(isReady: wait.readiness.wait(on: wait.descriptor, within: .milliseconds(20)))
        }

        /// Whether the kernel takes nothing more for the broker.
        var isHeldUp: Bool {
            guard let wait = connection.wait, wait.readiness == .writable else { return false }
            return !Readiness.writable.wait(on: wait.descriptor, within: .milliseconds(200))
        }

        /// - Returns: false where the other end has gone.
        static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                guard count > 0 else { return false }
                rest = rest.dropFirst(count)
            }
            return true
        }
    }
}
