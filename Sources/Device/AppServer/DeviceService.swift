import AgentModel
import AppProtocol

/// Answers requests: the agent, or a stand-in in a test.
public protocol DeviceService: Sendable {
    /// Requests of one connection come one after the other, those of several connections at the same time.
    func respond(to request: Request.Body, from peer: Peer) async throws(ProtocolError) -> Response.Body

    /// The answer to `network.switch` has arrived, or cannot any more: now the link may drop. It is called at least
    /// once for each, at the latest 1.5 s after the answer was given; what is called again for the same answer says
    /// nothing new.
    func hasArrived(_ answer: SwitchStatus) async
}

extension DeviceService {
    public func hasArrived(_ answer: SwitchStatus) async {}
}

/// The other end of a connection, and its permissions.
public struct Peer: Sendable, Hashable {
    public let origin: Origin
    public let role: Role
    /// The name of its key; nil for a program of this machine.
    public let key: KeyName?
    /// Whether its key is good for `key.claim` alone.
    public let isInvited: Bool

    public init(origin: Origin, role: Role, key: KeyName? = nil, isInvited: Bool = false) {
        (self.origin, self.role, self.key, self.isInvited) = (origin, role, key, isInvited)
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
        if case .network = peer.origin, let field = plainPassword {
            return ProtocolError(
                .sealRequired, "a password that comes over the network has to be sealed",
                details: ["field": .text(field)])
        }
        return nil
    }

    /// Path of a plain password in the line.
    private var plainPassword: String? {
        switch self {
        case .updateBackups(let update):
            update.networks.enumerated().lazy.compactMap { index, network in
                network.plainMember.map { "body.networks[\(index)].\($0)" }
            }.first ?? update.home?.network?.plainMember.map { "body.home.\($0)" }
        case .switchNetwork(let request): request.target.plainMember.map { "body.\($0)" }
        case .stagePassword(let staging): NetworkReference.new(staging.network).plainMember.map { "body.\($0)" }
        case .getCapabilities, .getNetwork, .getBackups, .getSwitch, .confirmSwitch, .startScan, .getScan, .getHistory,
            .agreeKey, .getDiagnosis, .getPortal, .getTargets, .updateTargets, .getProviders, .setProvider, .getKeys,
            .addKey, .revokeKey, .claimKey, .openRescue, .closeRescue, .dropPassword,
            .getMetrics:
            nil
        // The answer to a portal is meant for the network's operator, whose page may send it in the plain.
        case .answerPortal: nil
        }
    }
}

extension NetworkReference {
    /// The member that has something secret in the plain.
    fileprivate var plainMember: String? {
        guard case .new(let network) = self else { return nil }
        return switch network.credential {
        case .password: "password"
        case .enterprise: "enterprise"
        case .none, .sealed, .sealedEnterprise: nil
        }
    }
}
