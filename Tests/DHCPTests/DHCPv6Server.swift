import AgentModel
import Randomness

@testable import DHCP

/// A server of DHCPv6 that says what a test tells it to, the client, its time, and what it did.
struct DHCPv6Bench {
    static let address = IPAddress("2001:db8::50")!
    static let other = IPAddress("2001:db8::51")!
    static let resolver = IPAddress("2001:db8::53")!
    static let server: [UInt8] = [0, 3, 0, 1, 2, 0, 0, 0, 0, 0xfe]
    static let linkLocal = IPAddress("fe80::1")!
    static let device: [UInt8] = [0, 3, 0, 1, 2, 0, 0, 0, 0, 1]
    static let association: UInt32 = 1

    var client: DHCPv6Client
    var now = Instant(milliseconds: 1_000_000)
    var done: [DHCPv6Client.Effect] = []
    var history: [(Instant, DHCPv6Client.Effect)] = []

    init(_ settings: DHCPSettings = DHCPSettings(), seed: UInt64 = 1) {
        client = DHCPv6Client(settings: settings, random: SeededRandom(seed: seed))
    }

    mutating func handle(_ event: DHCPv6Client.Event) {
        done = client.handle(event, at: now)
        history += done.map { (now, $0) }
    }

    mutating func linkUp(_ mode: DHCPv6Client.Mode = .stateful, _ remembered: IPv6Lease? = nil) {
        handle(.linkUp(hardware: Server.client, wants: mode, remembered: remembered))
    }

    /// Wakes the client at each of its deadlines until then.
    mutating func wait(_ duration: Duration) {
        let end = now + duration
        var all: [DHCPv6Client.Effect] = []
        while let deadline = client.deadline, deadline <= end {
            now = max(now, deadline)
            handle(.timer)
            all += done
        }
        (now, done) = (end, all)
    }

    /// An answer to the last question with an address, unless it is changed.
    mutating func answer(
        _ kind: DHCPv6Message.Kind, _ options: DHCPv6Options = DHCPv6Bench.options(),
        _ change: (inout DHCPv6Message) -> Void = { _ in }
    ) {
        var message = DHCPv6Message(kind, transaction: sent.last?.transaction ?? 0, options: options)
        change(&message)
        handle(.packet(Self.packet(message)))
    }

    mutating func bind() {
        linkUp()
        answer(.advertise)
        answer(.reply)
    }

    static func options(
        client: [UInt8]? = device, server: [UInt8]? = DHCPv6Bench.server, association: [UInt8]? = association(),
        _ more: (DHCPv6Option, [UInt8])...
    ) -> DHCPv6Options {
        var options = DHCPv6Options()
        for (option, value) in [
            (DHCPv6Option.clientIdentifier, client), (.serverIdentifier, server), (.association, association),
        ] {
            if let value { options.append(option, value) }
        }
        for (option, value) in more { options.append(option, value) }
        return options
    }

    static func status(_ code: UInt16) -> [UInt8] { code.bytes + Array("no\u{1b}[m".utf8) }

    /// An association with an address or with a status.
    static func association(
        _ address: IPAddress = address, preferred: UInt32 = 1800, valid: UInt32 = 3600, renewal: UInt32 = 0,
        rebinding: UInt32 = 0, status: UInt16? = nil, count: Int = 1
    ) -> [UInt8] {
        var inner = DHCPv6Options()
        if let status {
            inner.append(.status, self.status(status))
        } else {
            for number in 0..<count {
                let own = address.bytes.dropLast() + [(address.bytes.last ?? 0) &+ UInt8(number)]
                inner.append(.address, own + preferred.bytes + valid.bytes)
            }
        }
        return association.bytes + renewal.bytes + rebinding.bytes + inner.bytes
    }

    /// From port 547 to port 546.
    static func packet(_ message: DHCPv6Message) -> [UInt8] {
        var packet = IPv6Datagram(source: linkLocal, destination: linkLocal, payload: message.bytes).packet
        // The sum of both ports stays the same.
        packet.swapAt(41, 43)
        return packet
    }

    /// All messages so far.
    var sent: [DHCPv6Message] { history.compactMap { Self.message($0.1) } }
    /// What was sent by the last call.
    var sentNow: [DHCPv6Message] { done.compactMap(Self.message) }

    static func message(_ effect: DHCPv6Client.Effect) -> DHCPv6Message? {
        if case .send(let bytes) = effect { try? DHCPv6Message(reading: bytes) } else { nil }
    }

    var problems: [DHCPv6Problem] { done.compactMap { if case .report(let problem) = $0 { problem } else { nil } } }

    /// `use`, `drop` and messages of the last call, by name.
    var words: [String] {
        done.compactMap {
            switch $0 {
            case .use: "use"
            case .drop(_, let reason): "drop \(reason)"
            case .send: Self.message($0).map { "\($0.kind)" }
            case .configure, .report: nil
            }
        }
    }

    var remembered: IPv6Lease {
        IPv6Lease(
            addresses: [
                .init(Self.address, preferredUntil: now + .seconds(900), validUntil: now + .seconds(1800))
            ], server: Self.server, renewal: now + .seconds(450), rebinding: now + .seconds(720),
            hardware: Server.client)
    }
}
