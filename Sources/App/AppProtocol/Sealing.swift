extension Request.Body {
    /// Whether the request has a password or a user's credential that a relay could read.
    public var hasPlainPassword: Bool {
        switch self {
        case .updateBackups(let update):
            (update.networks + [update.home?.network].compactMap(\.self)).contains(where: \.isPlain)
        case .switchNetwork(let request): request.target.isPlain
        case .stagePassword(let staging): staging.network.credential.isPlain
        default: false
        }
    }

    /// Returns the request with every password and credential sealed.
    /// - Throws: `invalidPassword`, `invalidEnterprise`, or `sealInvalid` for an invalid key.
    public func sealed(with key: SealingKey, for device: DeviceKey) throws(ProtocolError) -> Request.Body {
        switch self {
        case .updateBackups(let update):
            var home = update.home
            if case .replace(let network)? = home {
                home = .replace(
                    try network.sealed(with: key, for: device) { SealContext(of: $0, in: update, isHome: true) })
            }
            let networks = try update.networks.map { network throws(ProtocolError) in
                try network.sealed(with: key, for: device) { SealContext(of: $0, in: update) }
            }
            return .updateBackups(
                BackupsUpdate(
                    networks: networks, ifRevision: update.ifRevision, addressing: update.addressing,
                    options: update.options, home: home))
        case .switchNetwork(let request):
            let target = try request.target.sealed(with: key, for: device) { SealContext(of: $0, in: request) }
            return .switchNetwork(
                SwitchRequest(
                    target: target, confirmWithin: request.confirmWithin, joinOnce: request.joinOnce,
                    besideUplink: request.besideUplink))
        case .stagePassword(let staging):
            let reference = try NetworkReference.new(staging.network).sealed(with: key, for: device) {
                SealContext(of: $0, in: staging)
            }
            guard case .new(let network) = reference else { return self }
            return .stagePassword(
                PasswordStaging(changeId: staging.changeId, network: network, keepFor: staging.keepFor))
        default: return self
        }
    }
}

extension NetworkReference {
    fileprivate var isPlain: Bool { if case .new(let network) = self { network.credential.isPlain } else { false } }

    fileprivate func sealed(
        with key: SealingKey, for device: DeviceKey, _ context: (NewNetwork) -> SealContext
    ) throws(ProtocolError) -> NetworkReference {
        guard case .new(let network) = self else { return self }
        return switch network.credential {
        case .none, .sealed, .sealedEnterprise: self
        case .password(let password):
            .new(network.with(.sealed(try key.seal(password, in: context(network), for: device))))
        case .enterprise(let credential):
            .new(network.with(.sealedEnterprise(try key.seal(credential, in: context(network), for: device))))
        }
    }
}
