import AgentModel
import AppProtocol

/// Answers requests: the agent, or a stand-in in a test.
public protocol DeviceService: Sendable {
    /// Called in order within a connection, and concurrently for several connections.
    func respond(to request: Request.Body, from peer: Peer) async throws(ProtocolError) -> Response.Body

    /// Verifies a request that an app proved with its key and sent over a relay. Each command opens once.
    /// - Parameter peer: the relay.
    /// - Returns: the request, and the app as a peer behind this relay.
    /// - Throws: `keyRefused` and other key errors, `malformed` if it is expired or was opened before, `busy`.
    func open(_ proved: ProvedRequest, from peer: Peer) async throws(ProtocolError) -> (Request.Body, Peer)

    var networkHashes: [NetworkHash] { get async }

    /// Reports that the answer to `network.switch` has arrived or was lost, so the link may drop. Called at least once,
    /// at most 1.5 s after the answer. Later calls have no effect.
    func answerSent(_ answer: SwitchStatus) async
}

extension DeviceService {
    public func answerSent(_ answer: SwitchStatus) async {}

    public func open(_ proved: ProvedRequest, from peer: Peer) async throws(ProtocolError) -> (Request.Body, Peer) {
        throw ProtocolError(.unsupported, "this device does not support proved requests", details: ["field": "type"])
    }

    public var networkHashes: [NetworkHash] { get async { [] } }

    /// Replaces network names with hashes.
    /// - Throws: `unknownNetwork` for an unknown name, or a hash.
    package func resolve(
        _ body: Request.Body, named names: NetworkNames
    ) async throws(ProtocolError) -> Request.Body {
        let hashes = await networkHashes
        return try body.naming { (name) throws(ProtocolError) in
            guard let hash = hashes.first(where: { names.name(of: $0) == name }) else {
                throw ProtocolError(.unknownNetwork, "no stored network has this name")
            }
            return hash
        }
    }
}

/// The other end of a connection with its permissions.
public struct Peer: Sendable, Hashable {
    public let origin: Origin
    public let role: Role
    /// Name of its key; nil for a program on this machine.
    public let key: KeyName?
    /// Whether its key is valid for `key.claim` only.
    public let isInvited: Bool
    /// Whether it sends requests of others, proved by `key` or unproved.
    public let isRelay: Bool

    public init(origin: Origin, role: Role, key: KeyName? = nil, isInvited: Bool = false, isRelay: Bool = false) {
        (self.origin, self.role, self.key) = (origin, role, key)
        (self.isInvited, self.isRelay) = (isInvited, isRelay)
    }

    /// Returns the peer for a relayed request. Only programs on this machine may relay; they get fewer rights.
    func relaying(as role: Role?) -> Peer {
        guard let role, case .process = origin else { return self }
        return Peer(origin: origin, role: min(role, self.role), isRelay: true)
    }

    /// Returns the peer for an app that proved its key over this relay.
    public func proved(by key: KeyName, of role: Role) -> Peer {
        Peer(origin: origin, role: min(role, self.role), key: key, isRelay: isRelay)
    }

    public enum Origin: Sendable, Hashable {
        /// A process on this machine (`SO_PEERCRED`, unix(7)).
        case process(pid: Int32, uid: UInt32, gid: UInt32)
        case network(address: String, port: Int)
        /// A user of the device's page: without a key on the setup access point, elsewhere with one. Passwords arrive
        /// unsealed.
        case page(address: String)
    }
}

extension Peer: CustomStringConvertible {
    public var description: String {
        switch origin {
        case .process(let pid, let uid, let gid) where isRelay:
            "\(key.map { "\($0.text.printable) by " } ?? "")a relay, pid \(pid), uid \(uid), gid \(gid)"
        case .process(let pid, let uid, let gid): "pid \(pid), uid \(uid), gid \(gid)"
        case .network(let address, let port): "\(key.map { "\($0.text.printable) at " } ?? "")\(address), port \(port)"
        case .page(let address): "\(key.map { "\($0.text.printable) on the page at " } ?? "the page at ")\(address)"
        }
    }
}

extension Request.Body {
    package func refusal(to peer: Peer) -> ProtocolError? {
        if peer.isInvited != (type == .claimKey), type != .getCapabilities {
            return peer.isInvited
                ? ProtocolError(.notPermitted, "this key is an invitation: claim a key of your own first (key.claim)")
                : ProtocolError(.notPermitted, "this key is not an invitation and cannot be claimed: use it as it is")
        }
        if peer.role < type.role {
            return ProtocolError(
                .notPermitted,
                peer.role == .see
                    ? "this \(peer.key == nil ? "user" : "key") may only read"
                    : "this key may only read and switch the device")
        }
        if peer.isRelay, let refusal = refusal(toRelayOf: peer.role, isProved: peer.key != nil) { return refusal }
        if case .network = peer.origin, let field = plainPassword { return .sealRequired(field) }
        return nil
    }
}
