import AgentModel
import DNS

/// How one question is put to a network's name servers, and what is made of their answers. It does nothing by itself:
/// each method says what is to be done next.
///
/// The servers are asked in turn, a second apart, for a few rounds; the first answer counts. One that fails is
/// asked no more, and the next has its turn at once.
struct NameInquiry {
    let question: DNSQuestion
    /// Unknown to everyone who does not see the query.
    let id: UInt16
    private var servers: [Server]
    /// Number of the server whose turn it is, counted on from round to round.
    private var turn = 0

    static let rounds = 3
    /// How much a server may say that is no answer before it counts as broken.
    static let patience = 32

    enum Action: Equatable {
        /// Nothing, until a server answers or the next turn comes.
        case wait
        /// Send the query, again perhaps, in a datagram.
        case ask(Int)
        /// Send the query over TCP, and listen to this server's datagrams no more.
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

    /// The next server's turn: at the beginning, and each second after that.
    mutating func next() -> Action {
        while turn < Self.rounds * servers.count {
            let server = turn % servers.count
            turn += 1
            // TCP sends again by itself.
            if servers[server].failure == nil, !servers[server].usesStream { return .ask(server) }
        }
        return servers.allSatisfy { $0.failure != nil } ? .finish(.failure(failure)) : .wait
    }

    /// - Parameter bytes: what came from a server.
    mutating func receive(_ bytes: [UInt8], from server: Int, byStream: Bool) -> Action {
        guard servers[server].failure == nil, byStream == servers[server].usesStream else { return .wait }
        guard let message = try? DNSMessage(reading: bytes), message.isResponse, message.id == id,
            message.questions == [question]
        else {
            servers[server].nonsense += 1
            // In a stream only the server can have said it.
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

    /// A server cannot be asked, or what it says is of no use.
    mutating func fail(_ server: Int, _ failure: NameFailure, byStream: Bool) -> Action {
        guard servers[server].failure == nil, byStream == servers[server].usesStream else { return .wait }
        servers[server].failure = failure
        return next()
    }

    /// The failure to report at the end: the most specific one of the servers.
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

/// The answer of a name server about a name.
struct NameAnswer: Equatable, Sendable {
    /// None if the name has no addresses of the kind asked for.
    let addresses: [IPAddress]
    /// In seconds: how long all of it holds.
    let timeToLive: UInt32

    static let maximumAddresses = 16
    static let longestChain = 8

    init(addresses: [IPAddress], timeToLive: UInt32) {
        self.addresses = addresses
        self.timeToLive = timeToLive
    }
}

extension NameAnswer {
    /// The addresses at the end of the chain of aliases that begins with the name asked for.
    ///
    /// One who asks on for others puts all of the chain into its answer (RFC 1034, 5.2.2); a chain that ends elsewhere
    /// leads to no address.
    /// - Throws: `malformed` where the chain leads round in a circle, or is too long to be meant.
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
