import AppProtocol

extension Request.Body {
    /// Returns the reason to refuse this request from a peer; nil to allow it.
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
