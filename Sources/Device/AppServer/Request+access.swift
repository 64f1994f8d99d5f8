import AppProtocol

extension Request.Body {
    /// Why `peer` may not ask for this.
    func refusal(to peer: Peer) -> ProtocolError? {
        if peer.access == .readOnly, type.isCommand {
            return ProtocolError(.notPermitted, "this user may ask and listen, and change nothing")
        }
        if case .network = peer.origin, let field = plainPassword {
            return ProtocolError(
                .sealRequired, "a password that comes over the network has to be sealed",
                details: ["field": .text(field)])
        }
        return nil
    }

    /// Where in the line a password stands as it is.
    private var plainPassword: String? {
        switch self {
        case .updateBackups(let update):
            update.networks.firstIndex(where: \.hasPlainPassword).map { "body.networks[\($0)].password" }
        case .switchNetwork(let request): request.target.hasPlainPassword ? "body.password" : nil
        case .getCapabilities, .getNetwork, .getBackups, .getSwitch, .confirmSwitch, .startScan, .getScan, .getHistory,
            .agreeKey, .getDiagnosis, .getPortal:
            nil
        // What a portal asks for is meant for the network's owner, who gets it in whatever way his page sends it.
        case .answerPortal: nil
        }
    }
}

extension NetworkReference {
    fileprivate var hasPlainPassword: Bool {
        if case .new(let network) = self, case .password = network.credential { true } else { false }
    }
}
