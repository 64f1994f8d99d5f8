import AgentModel
import DNS

/// One DNS question to a network's name servers. Methods return the next effect.
///
/// Asks servers in turn, one second apart, for three rounds. Uses the first answer. Skips a server that has failed.
struct NameInquiry {
    let question: DNSQuestion
    /// ID of the query, random so that off-path attackers cannot forge answers.
    let id: UInt16
    private var servers: [Server]
    /// Number of turns taken, over all rounds.
    private var turn = 0

    static let rounds = 3
    /// Invalid messages from a server until it counts as broken.
    static let patience = 32

    enum Effect: Equatable {
        case wait
        /// Send the query by UDP.
        case ask(Int)
        /// Send the query by TCP, and ignore the server's datagrams.
        case askByStream(Int)
        case finish(Result<NameAnswer, NameFailure>)
    }

    private struct Server {
        var failure: NameFailure?
        var nonsense = 0
        var usesStream = false
    }

    init(_ question: DNSQuestion, id: UInt16, servers: Int) {
        self.question = question
        self.id = id
        self.servers = Array(repeating: Server(), count: servers)
    }

    var query: [UInt8] { DNSMessage(asking: [question], id: id, recursively: true).query }

    /// Takes the next turn: at the start, then each second.
    mutating func next() -> Effect {
        while turn < Self.rounds * servers.count {
            let server = turn % servers.count
            turn += 1
            // Skips servers asked by TCP, because TCP retransmits the query.
            if servers[server].failure == nil, !servers[server].usesStream { return .ask(server) }
        }
        return servers.allSatisfy { $0.failure != nil } ? .finish(.failure(failure)) : .wait
    }

    mutating func receive(_ bytes: [UInt8], from server: Int, byStream: Bool) -> Effect {
        guard servers[server].failure == nil, byStream == servers[server].usesStream else { return .wait }
        guard let message = try? DNSMessage(reading: bytes), message.isResponse, message.id == id,
            message.questions == [question]
        else {
            servers[server].nonsense += 1
            // An invalid message in a TCP stream always comes from the server, so the server has failed.
            return byStream || servers[server].nonsense >= Self.patience
                ? fail(server, .malformed, byStream: byStream) : .wait
        }
        switch message.responseCode {
        case _ where message.isTruncated && !byStream:
            servers[server].usesStream = true
            return .askByStream(server)
        case .success:
            do { return .finish(.success(try NameAnswer(to: question, in: message))) } catch {
                return fail(server, error, byStream: byStream)
            }
        case .unknownName: return .finish(.failure(.unknownName))
        default: return fail(server, .failed(code: message.responseCode.rawValue), byStream: byStream)
        }
    }

    mutating func fail(_ server: Int, _ failure: NameFailure, byStream: Bool) -> Effect {
        guard servers[server].failure == nil, byStream == servers[server].usesStream else { return .wait }
        servers[server].failure = failure
        return next()
    }

    var failure: NameFailure {
        func first(_ isMeant: (NameFailure) -> Bool) -> NameFailure? {
            servers.compactMap(\.failure).first(where: isMeant)
        }
        let isCode = first { if case .failed = $0 { true } else { false } }
        if let isCode { return isCode }
        if servers.contains(where: { $0.failure == .malformed || $0.nonsense > 0 }) { return .malformed }
        if servers.contains(where: { $0.failure == nil || $0.failure == .silent }) { return .silent }
        return servers.compactMap(\.failure).first ?? .noServers
    }
}

struct NameAnswer: Equatable, Sendable {
    /// Addresses of the name; empty if it has none of this type.
    let addresses: [IPAddress]
    /// Time to live in seconds, the least of all records used.
    let timeToLive: UInt32

    static let maximumAddresses = 16
    static let longestChain = 8

    init(addresses: [IPAddress], timeToLive: UInt32) {
        self.addresses = addresses
        self.timeToLive = timeToLive
    }
}

extension NameAnswer {
    /// Takes the addresses at the end of the alias chain, which recursive servers send as a whole (RFC 1034, 5.2.2).
    /// - Throws: `malformed` for a loop or more than 8 aliases.
    init(to question: DNSQuestion, in message: DNSMessage) throws(NameFailure) {
        var name = question.name
        var timeToLive = UInt32.max
        var links = 0
        while let alias = message.answers.first(where: { $0.name == name && $0.alias != nil }),
            let target = alias.alias
        {
            links += 1
            guard links <= Self.longestChain else { throw .malformed }
            name = target
            timeToLive = min(timeToLive, alias.timeToLive)
        }
        var addresses: [IPAddress] = []
        for record in message.answers where record.name == name {
            guard let address = record.address(of: question.type), !addresses.contains(address) else { continue }
            addresses.append(address)
            timeToLive = min(timeToLive, record.timeToLive)
            if addresses.count == Self.maximumAddresses { break }
        }
        self.init(addresses: addresses, timeToLive: addresses.isEmpty ? 0 : timeToLive)
    }
}

extension DNSRecord {
    fileprivate var alias: DNSName? {
        guard case .alias(let name) = data else { return nil }
        return name
    }

    fileprivate func address(of type: DNSRecordType) -> IPAddress? {
        switch data {
        case .ipv4(let bytes) where type == .ipv4, .ipv6(let bytes) where type == .ipv6: IPAddress(bytes: bytes)
        default: nil
        }
    }
}
