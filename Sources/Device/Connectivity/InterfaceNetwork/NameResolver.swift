import AgentModel
import DNS
import NIOCore
import Synchronization

/// Queries a network's name servers and caches their answers. Never blocks a thread.
final class NameResolver: Sendable {
    private let way: BoundLoop
    /// Second path to the name servers; nil without one.
    private let otherWay: BoundLoop?
    private let reader: AnnouncementReader
    private let cache = Mutex(NameCache())

    /// Time until the next server is asked as well.
    private static let turn = TimeAmount.seconds(1)

    /// - Parameter otherWay: path for the second turn of each name server; nil for none.
    init(_ way: BoundLoop, _ reader: AnnouncementReader, thenBy otherWay: BoundLoop? = nil) {
        (self.way, self.otherWay) = (way, otherWay)
        self.reader = reader
    }

    func forget() { cache.withLock { $0 = NameCache() } }

    /// Waits for a name server if none is known. Returns an empty list if the name exists without an address of this
    /// type.
    func addresses(
        _ type: DNSRecordType, of host: Host, within limit: Duration
    ) async throws(NameFailure) -> [IPAddress] {
        switch host {
        case .address(let address): return (address.family == .ipv4) == (type == .ipv4) ? [address] : []
        // Never asks servers for this name (RFC 6761, 6.3).
        case .name(DNSName(known: "localhost")): return type == .ipv4 ? Self.loopback4 : Self.loopback6
        case .name(let name):
            let question = DNSQuestion(name, type)
            if let known = cache.withLock({ $0.addresses(question, at: .now()) }) { return known }
            let answer = try await ask(question, within: limit)
            cache.withLock { $0.keep(answer, to: question, at: .now()) }
            return answer.addresses
        }
    }

    private enum Event: Sendable {
        case turn
        case server(Int, NameServerSocket.Event, byStream: Bool)
    }

    private func ask(_ question: DNSQuestion, within limit: Duration) async throws(NameFailure) -> NameAnswer {
        let deadline = way.loop.now + TimeAmount(limit)
        let known = await reader.announcements(until: deadline) { !$0.nameServers.isEmpty }.nameServers
        let servers = Self.turns(known, by: way, thenBy: otherWay)
        guard !servers.isEmpty else { throw .noServers }
        // The buffer is bounded because servers may flood it. Queries whose answers are dropped are repeated.
        let (events, continuation) = AsyncStream.makeStream(of: Event.self, bufferingPolicy: .bufferingOldest(64))
        let turns = way.loop.scheduleRepeatedTask(initialDelay: Self.turn, delay: Self.turn) { _ in
            continuation.yield(.turn)
        }
        let end = way.loop.scheduleTask(deadline: deadline) { continuation.finish() }
        var datagrams: [Int: NameServerSocket] = [:]
        var streams: [NameServerSocket] = []
        defer {
            turns.cancel()
            end.cancel()
            for socket in Array(datagrams.values) + streams { socket.close() }
        }
        var inquiry = NameInquiry(question, id: UInt16.random(in: .min ... .max), servers: servers.count)
        func open(_ server: Int, isStream: Bool) -> NameServerSocket {
            let (address, way) = servers[server]
            return NameServerSocket(to: address, isStream: isStream, through: way) { event in
                continuation.yield(.server(server, event, byStream: isStream))
            }
        }
        func perform(_ effect: NameInquiry.Effect) -> Result<NameAnswer, NameFailure>? {
            switch effect {
            case .wait: break
            case .ask(let server):
                let socket = datagrams[server] ?? open(server, isStream: false)
                datagrams[server] = socket
                socket.send(inquiry.query)
            case .askByStream(let server):
                datagrams.removeValue(forKey: server)?.close()
                let socket = open(server, isStream: true)
                streams.append(socket)
                socket.send(inquiry.query)
            case .finish(let result): return result
            }
            return nil
        }
        var result = perform(inquiry.next())
        var pending = events.makeAsyncIterator()
        while result == nil, let event = await pending.next() {
            switch event {
            case .turn: result = perform(inquiry.next())
            case .server(let server, .message(let bytes), let byStream):
                result = perform(inquiry.receive(bytes, from: server, byStream: byStream))
            case .server(let server, .failure(let failure), let byStream):
                result = perform(inquiry.fail(server, failure, byStream: byStream))
            }
        }
        if let result { return try result.get() }
        throw Task.isCancelled ? .cancelled : inquiry.failure
    }
}

extension NameResolver {
    /// Returns the name servers with their paths, in the order of the questions. A server on this machine has one path.
    static func turns(
        _ servers: [NameServer], by way: BoundLoop, thenBy otherWay: BoundLoop?
    ) -> [(server: NameServer, way: BoundLoop)] {
        servers.flatMap { server in
            [way, server.address.isLoopback ? nil : otherWay].compactMap(\.self).map { (server: server, way: $0) }
        }
    }

    fileprivate static let loopback4 = [IPAddress("127.0.0.1")].compactMap(\.self)
    fileprivate static let loopback6 = [IPAddress("::1")].compactMap(\.self)
}

struct NameCache: Sendable {
    private var entries: [DNSQuestion: Entry] = [:]

    /// Longest caching time, because devices and servers change addresses.
    static let longest = TimeAmount.seconds(300)
    static let maximumEntries = 64

    private struct Entry {
        let addresses: [IPAddress]
        let expiry: NIODeadline
    }

    func addresses(_ question: DNSQuestion, at now: NIODeadline) -> [IPAddress]? {
        guard let entry = entries[question], now < entry.expiry else { return nil }
        return entry.addresses
    }

    mutating func keep(_ answer: NameAnswer, to question: DNSQuestion, at now: NIODeadline) {
        guard answer.timeToLive > 0, !answer.addresses.isEmpty else { return }
        entries = entries.filter { now < $0.value.expiry }
        if entries.count >= Self.maximumEntries, entries[question] == nil,
            let first = entries.min(by: { $0.value.expiry < $1.value.expiry })
        {
            entries[first.key] = nil
        }
        let life = min(.seconds(Int64(answer.timeToLive)), Self.longest)
        entries[question] = Entry(addresses: answer.addresses, expiry: now + life)
    }
}

/// Destination of a connection: an address or a DNS name.
public enum Host: Hashable, Sendable {
    case address(IPAddress)
    case name(DNSName)

    /// - Parameter text: an address without brackets, or a name of letters, digits, hyphens (RFC 1123, 2.1) and
    ///   underscores. Other scripts need the form `xn--...`.
    /// - Throws: `invalid`.
    public init(_ text: String) throws(NameFailure) {
        if let address = IPAddress(text) {
            self = .address(address)
            return
        }
        let labels = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map(Array.init)
        guard let name = DNSName(labels: labels.last == [] ? labels.dropLast() : labels[...]),
            name.labels.allSatisfy(Self.isLabel), let last = name.labels.last,
            // Refuses mistyped addresses such as 10.0.0.256 or 10.1.
            !last.allSatisfy(Self.digits.contains)
        else { throw .invalid }
        self = .name(name)
    }

    private static let digits = UInt8(ascii: "0")...UInt8(ascii: "9")

    private static func isLabel(_ label: [UInt8]) -> Bool {
        let hyphen = UInt8(ascii: "-")
        return label.first != hyphen && label.last != hyphen
            && label.allSatisfy { byte in
                digits.contains(byte) || byte == hyphen || byte == UInt8(ascii: "_")
                    || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
            }
    }
}
