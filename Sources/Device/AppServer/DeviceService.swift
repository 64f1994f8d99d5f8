import AgentModel
import AppProtocol

/// Answers requests: the agent, or a stand-in in a test.
public protocol DeviceService: Sendable {
    /// Requests of one connection come one after the other, those of several connections at the same time.
    func respond(to request: Request.Body, from peer: Peer) async throws(ProtocolError) -> Response.Body

    /// Opens a request that an app has proved with its key, for a relay to carry. A command is opened once.
    /// - Parameter peer: the relay.
    /// - Returns: the request, and the app as a peer behind this relay.
    /// - Throws: `keyRefused` and the like for the key, `malformed` where it is over, or was opened before, `busy`.
    func open(_ proved: ProvedRequest, from peer: Peer) async throws(ProtocolError) -> (Request.Body, Peer)

    /// The hashes of all networks that an app may name by one. Relays name them otherwise.
    var networkHashes: [NetworkHash] { get async }

    /// The answer to `network.switch` has arrived, or cannot any more: now the link may drop. It is called at least
    /// once for each, at the latest 1.5 s after the answer was given; what is called again for the same answer says
    /// nothing new.
    func hasArrived(_ answer: SwitchStatus) async
}

extension DeviceService {
    public func hasArrived(_ answer: SwitchStatus) async {}

    public func open(_ proved: ProvedRequest, from peer: Peer) async throws(ProtocolError) -> (Request.Body, Peer) {
        throw ProtocolError(.unsupported, "this device takes no proved requests", details: ["field": "type"])
    }

    public var networkHashes: [NetworkHash] { get async { [] } }

    /// Returns a request with the hashes of the networks in it, in place of their names.
    /// - Throws: `unknownNetwork`: a hash is no name.
    package func resolve(
        _ body: Request.Body, named names: NetworkNames
    ) async throws(ProtocolError) -> Request.Body {
        let hashes = await networkHashes
        return try body.naming { (name) throws(ProtocolError) in
            guard let hash = hashes.first(where: { names.name(of: $0) == name }) else {
                throw ProtocolError(.unknownNetwork, "no stored network has this name: read backups.get again")
            }
            return hash
        }
    }
}

/// The other end of a connection, and its permissions.
public struct Peer: Sendable, Hashable {
    public let origin: Origin
    public let role: Role
    /// The name of its key; nil for a program of this machine.
    public let key: KeyName?
    /// Whether its key is good for `key.claim` alone.
    public let isInvited: Bool
    /// Whether it is a relay, such as the bridge to a broker: what it asks is asked by others, with the proof of `key`
    /// or without any.
    public let isRelay: Bool

    public init(origin: Origin, role: Role, key: KeyName? = nil, isInvited: Bool = false, isRelay: Bool = false) {
        (self.origin, self.role, self.key) = (origin, role, key)
        (self.isInvited, self.isRelay) = (isInvited, isRelay)
    }

    /// The peer for a request that it says it relays: a program of this machine may say so, and has less rights then.
    func relaying(as role: Role?) -> Peer {
        guard let role, case .process = origin else { return self }
        return Peer(origin: origin, role: min(role, self.role), isRelay: true)
    }

    /// An app that has proved its key by this relay.
    public func proved(by key: KeyName, of role: Role) -> Peer {
        Peer(origin: origin, role: min(role, self.role), key: key, isRelay: isRelay)
    }

    public enum Origin: Sendable, Hashable {
        /// A process of this machine, as the kernel tells it (`SO_PEERCRED`, unix(7)).
        case process(pid: Int32, uid: UInt32, gid: UInt32)
        /// A client in the network that has a key of the device.
        case network(address: String, port: Int)
        /// A person in front of the device's own page, in a browser at this address: on its access point without a key,
        /// elsewhere with one. The page ends here, so a password on it is not sealed.
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
    /// Why `peer` may not ask for this.
    package func refusal(to peer: Peer) -> ProtocolError? {
        if peer.isInvited != (type == .claimKey), type != .getCapabilities {
            return peer.isInvited
                ? ProtocolError(.notPermitted, "this key is an invitation: claim a key of its own with key.claim first")
                : ProtocolError(.notPermitted, "only an invitation can be claimed")
        }
        if peer.role < type.role {
            return ProtocolError(
                .notPermitted,
                peer.role == .see
                    ? "this \(peer.key == nil ? "user" : "key") may ask and listen, and change nothing"
                    : "this key may move the device, and change nothing else")
        }
        if peer.isRelay, let refusal = refusal(toRelayOf: peer.role, isProved: peer.key != nil) { return refusal }
        if case .network = peer.origin, let field = plainPassword { return .sealRequired(field) }
        return nil
    }
}
