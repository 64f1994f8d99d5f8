import AgentModel

extension Request.Body {
    /// Returns the reason to refuse this request from a relay, such as a broker; nil to allow it.
    ///
    /// A sender at a broker may not be the owner. It has the role that the device's settings grant, and may switch to
    /// stored networks only. New networks, passwords, addresses and options need the proof of an app's key.
    /// - Parameters:
    ///   - role: role that the settings grant to senders over the relay; nil for none.
    ///   - isProved: whether an app has proved this request with its key. The key's role is checked elsewhere.
    package func refusal(toRelayOf role: Role?, isProved: Bool) -> ProtocolError? {
        switch type {
        case .getPortal, .answerPortal, .getKeys, .addKey, .revokeKey, .claimKey:
            return ProtocolError(
                .notPermitted, "a broker cannot send this request, connect to the device instead: \(type.rawValue)")
        default: break
        }
        guard let role, type.role <= role else {
            return ProtocolError(
                .notPermitted, "the device's settings do not permit this request over a broker: \(type.rawValue)")
        }
        if let field = plainPassword { return .sealRequired(field) }
        if needsProof, !isProved {
            return ProtocolError(
                .proofRequired, "over a broker this request needs the proof of an app's key: send it in request.prove")
        }
        return nil
    }

    /// Whether the request adds a network, password, address or option, or needs a key for its answer.
    private var needsProof: Bool {
        switch self {
        case .switchNetwork(let order): order.target.isNew
        case .updateBackups(let update):
            !update.addressing.isEmpty || !update.options.isEmpty || update.networks.contains(where: \.isNew)
                || update.home?.network?.isNew ?? false
        case .stagePassword: true
        case .agreeKey(let query): query.nonce != nil
        default: false
        }
    }

    package var plainPassword: String? {
        switch self {
        case .updateBackups(let update):
            update.networks.enumerated().lazy.compactMap { index, network in
                network.plainMember.map { "body.networks[\(index)].\($0)" }
            }.first ?? update.home?.network?.plainMember.map { "body.home.\($0)" }
        case .switchNetwork(let request): request.target.plainMember.map { "body.\($0)" }
        case .stagePassword(let staging): NetworkReference.new(staging.network).plainMember.map { "body.\($0)" }
        case .getCapabilities, .getNetwork, .getBackups, .getSwitch, .confirmSwitch, .startScan, .getScan, .getHistory,
            .agreeKey, .getDiagnosis, .getPortal, .getTargets, .updateTargets, .getProviders, .setProvider, .setName,
            .getKeys, .addKey, .revokeKey, .claimKey, .openRescue, .closeRescue, .dropPassword, .getMetrics:
            nil
        // The answer to a portal goes to the network's operator, whose page may send it unencrypted.
        case .answerPortal: nil
        }
    }

    /// Returns the request with the hash of each stored network replaced by `name`.
    package func naming(
        _ name: (NetworkHash) throws(ProtocolError) -> NetworkHash
    ) throws(ProtocolError) -> Request.Body {
        func named(_ network: NetworkReference) throws(ProtocolError) -> NetworkReference {
            guard case .stored(let hash) = network else { return network }
            return .stored(try name(hash))
        }
        switch self {
        case .switchNetwork(let order):
            return .switchNetwork(
                SwitchRequest(
                    target: try named(order.target), confirmWithin: order.confirmWithin, joinOnce: order.joinOnce,
                    besideUplink: order.besideUplink))
        case .updateBackups(let update):
            var networks: [NetworkReference] = []
            for network in update.networks { networks.append(try named(network)) }
            var addressing: [NetworkHash: Addressing] = [:]
            for (hash, entry) in update.addressing { addressing[try name(hash)] = entry }
            var options: [NetworkHash: NetworkOptions.Change] = [:]
            for (hash, change) in update.options { options[try name(hash)] = change }
            var home = update.home
            if let network = home?.network { home = .replace(try named(network)) }
            return .updateBackups(
                BackupsUpdate(
                    networks: networks, ifRevision: update.ifRevision, addressing: addressing, options: options,
                    home: home))
        default: return self
        }
    }
}

extension ProtocolError {
    /// - Parameter field: path of the plain password.
    package static func sealRequired(_ field: String) -> ProtocolError {
        ProtocolError(
            .sealRequired, "a password sent over the network must be sealed", details: ["field": .text(field)])
    }
}

extension NetworkReference {
    fileprivate var isNew: Bool { if case .new = self { true } else { false } }

    fileprivate var plainMember: String? {
        guard case .new(let network) = self else { return nil }
        return switch network.credential {
        case .password: "password"
        case .enterprise: "enterprise"
        case .none, .sealed, .sealedEnterprise: nil
        }
    }
}
