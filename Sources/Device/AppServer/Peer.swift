import AgentModel
import AppProtocol

/// The other end of a connection with its permissions.
public struct Peer: Sendable, Hashable {
    public let origin: Origin
    public let role: Role
    /// Name of the peer's key; nil for a program on this machine.
    public let key: KeyName?
    /// True if the peer's key allows only `key.claim` and `capabilities.get`.
    public let isInvited: Bool
    /// True if the peer relays requests of others. These are proved by `key`; if `key` is nil, they are unproved.
    public let isRelay: Bool

    public init(origin: Origin, role: Role, key: KeyName? = nil, isInvited: Bool = false, isRelay: Bool = false) {
        (self.origin, self.role, self.key) = (origin, role, key)
        (self.isInvited, self.isRelay) = (isInvited, isRelay)
    }

    /// Returns the peer for a relayed request, with at most the role of the relay. Only programs on this machine may
    /// relay.
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
        /// A user of the device's page, who needs a key except on the setup access point. Passwords arrive unsealed.
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
