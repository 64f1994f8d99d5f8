import AgentCore
import AgentModel
import AppProtocol
import KeyFile

/// A network from an app, with its credential in plain text.
struct DecryptedNetwork: Sendable {
    let ssid: SSID
    let password: Secret?
    let enterprise: EnterpriseCredential?
    let security: Security?
    let isHidden: Bool
    let address: StaticAddress?
    let options: NetworkOptions

    init(
        ssid: SSID, password: Secret? = nil, enterprise: EnterpriseCredential? = nil, security: Security? = nil,
        isHidden: Bool = false, address: StaticAddress? = nil, options: NetworkOptions = .init()
    ) {
        self.ssid = ssid
        self.password = password
        self.enterprise = enterprise
        self.security = security
        self.isHidden = isHidden
        self.address = address
        self.options = options
    }

    /// Opens a sealed credential, which is possible only once. Takes a fraction of a millisecond.
    /// - Parameter context: the request that contains the network.
    init(_ network: NewNetwork, in context: SealContext, openedWith seals: SealOpener) throws(ProtocolError) {
        var (password, enterprise): (Secret?, EnterpriseCredential?)
        switch network.credential {
        case .none: break
        case .password(let plain): password = plain
        case .sealed(let sealed): password = try seals.open(sealed, in: context)
        case .enterprise(let plain): enterprise = plain
        case .sealedEnterprise(let sealed): enterprise = try seals.open(sealed, in: context)
        }
        self.init(
            ssid: network.ssid, password: password, enterprise: enterprise, security: network.security,
            isHidden: network.isHidden, address: network.address, options: network.options)
    }
}

extension StoredNetwork {
    /// Derives the network's key, which takes milliseconds.
    init(_ network: DecryptedNetwork) throws(ProtocolError) {
        var credential = JoinRequest.Credential.none
        if let password = network.password {
            do {
                try Passphrase.validate(password, for: network.security)
            } catch {
                throw ProtocolError(.invalidPassword, "\(error)")
            }
            credential = .passphrase(password, psk: PreSharedKey.derive(from: password, ssid: network.ssid))
        } else if let enterprise = network.enterprise {
            credential = .enterprise(enterprise)
        }
        self.init(
            ssid: network.ssid, credential: credential, security: network.security,
            minimumSecurity: LinkProtection(promisedBy: network.security), isHidden: network.isHidden,
            staticAddress: network.address, options: network.options)
    }

    /// Opens a sealed credential and derives the key.
    /// - Parameter field: position in the request, such as `body.networks[1]`.
    /// - Throws: `ProtocolError` with the field of the credential.
    init(
        _ network: NewNetwork, at field: String, in context: SealContext, openedWith seals: SealOpener
    ) throws(ProtocolError) {
        do throws(ProtocolError) {
            try self.init(DecryptedNetwork(network, in: context, openedWith: seals))
        } catch {
            throw switch network.credential {
            case .none: error
            case .password: error.about(field + ".password")
            case .sealed: error.about(field + ".sealed")
            case .enterprise: error.about(field + ".enterprise")
            case .sealedEnterprise: error.about(field + ".enterprise.sealed")
            }
        }
    }
}

extension PreparedUpdate {
    /// Opens the credentials and derives the keys of all networks. A single error refuses the whole list.
    /// - Parameter maximum: maximum number of networks. It is checked first, because deriving the keys of a thousand
    ///   networks takes a minute.
    init(_ update: BackupsUpdate, maximum: Int, seals: SealOpener) throws(ProtocolError) {
        guard update.networks.count <= maximum else {
            throw ProtocolError(
                .tooManyNetworks, "\(update.networks.count) networks are more than the maximum of \(maximum)",
                details: ["max": .number(maximum), "count": .number(update.networks.count)])
        }
        var entries: [Entry] = []
        for (index, network) in update.networks.enumerated() {
            switch network {
            case .stored(let hash):
                entries.append(
                    .stored(hash, addressing: update.addressing[hash], options: update.options[hash] ?? .init()))
            case .new(let network):
                let field = "body.networks[\(index)]"
                let context = SealContext(of: network, in: update)
                entries.append(.new(try StoredNetwork(network, at: field, in: context, openedWith: seals)))
            }
        }
        let home: Home? =
            switch update.home {
            case nil: nil
            case .forget: .forgotten
            case .replace(.stored(let hash)): .replaced(by: .stored(hash))
            case .replace(.new(let network)):
                .replaced(
                    by: .new(
                        try StoredNetwork(
                            network, at: "body.home", in: SealContext(of: network, in: update, isHome: true),
                            openedWith: seals)))
            }
        self.init(entries: entries, ifRevision: update.ifRevision, home: home)
    }
}
