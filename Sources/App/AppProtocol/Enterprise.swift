import AgentModel

/// The credential of an enterprise network, readable by the device only. The whole credential is sealed: a relay that
/// could change the certificate authority could obtain the password.
public struct SealedEnterprise: Sendable, Equatable {
    public let sealed: SealedBox

    /// Padding step in bytes. Zeros fill the JSON to a multiple of this size, to hide its length.
    public static let paddingStep = 1024
    /// Maximum number of padding steps, enough for the longest credential.
    public static let maximumSteps = 16

    /// - Returns: nil for a box of the wrong length.
    public init?(_ sealed: SealedBox) {
        guard Self.isLength(sealed.bytes.count) else { return nil }
        self.sealed = sealed
    }

    static func isLength(_ count: Int) -> Bool {
        let padded = count - SealedPassword.overhead
        return padded > 0 && padded.isMultiple(of: paddingStep) && padded <= maximumSteps * paddingStep
    }
}

extension SealingKey {
    /// Seals a credential. Every call creates another box.
    /// - Throws: `sealInvalid` for an invalid key, `invalidEnterprise` for a credential that is too long.
    public func seal(
        _ credential: EnterpriseCredential, in context: SealContext, for device: DeviceKey
    ) throws(ProtocolError) -> SealedEnterprise {
        var text = try Line.encode(EnterpriseMessage.plain(credential))
        defer { text.withUnsafeMutableBytes { wipe($0) } }
        let steps = (text.count + SealedEnterprise.paddingStep - 1) / SealedEnterprise.paddingStep
        guard steps <= SealedEnterprise.maximumSteps else {
            throw ProtocolError(
                .invalidEnterprise, "the credential is too long to be sent sealed: store it on the device itself")
        }
        let padded = steps * SealedEnterprise.paddingStep
        guard let sealed = SealedEnterprise(try box(Secret(text), paddedTo: padded, in: context, for: device)) else {
            throw ProtocolError(.internalError, "a box has the wrong length")
        }
        return sealed
    }
}

extension SealOpener {
    /// Opens a sealed credential. Each one opens only once, even if its request fails later.
    /// - Throws: `keyRotated`, `sealInvalid`, `sealUsed`, `malformed`, or `invalidEnterprise`.
    public func open(
        _ sealed: SealedEnterprise, in context: SealContext
    ) throws(ProtocolError) -> EnterpriseCredential {
        let text = try open(sealed.sealed, in: context)
        let message: EnterpriseMessage
        do {
            message = try text.withBytes { text throws(ProtocolError) in
                try Line.decode(EnterpriseMessage.self, from: text)
            }
        } catch {
            // Leave out the field, which the caller adds.
            throw ProtocolError(error.code, error.message)
        }
        guard case .plain(let credential) = message else {
            throw ProtocolError(.invalidEnterprise, "a sealed credential contains another one")
        }
        return credential
    }
}

enum EnterpriseMessage: Sendable, Equatable {
    case plain(EnterpriseCredential)
    case sealed(SealedEnterprise)
}

extension EnterpriseMessage: Codable {
    private enum CodingKeys: String, CodingKey {
        case method, inner, identity, anonymousIdentity, password, clientCertificate, privateKey, caCertificate
        case systemAuthorities, serverName, sealed
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if container.contains(.sealed), try !container.decodeNil(forKey: .sealed) {
            self = .sealed(
                try Self.sealed(container.nestedContainer(keyedBy: SealedBox.CodingKeys.self, forKey: .sealed)))
            return
        }
        func text(_ key: CodingKeys) throws -> String? { try container.decodeIfPresent(String.self, forKey: key) }
        func secret(_ key: CodingKeys) throws -> Secret? { try container.decodeIfPresent(Secret.self, forKey: key) }
        let method = try container.decode(EnterpriseCredential.Method.self, forKey: .method)
        let inner = try container.decodeIfPresent(EnterpriseCredential.Inner.self, forKey: .inner)
        let (identity, anonymousIdentity) = (try text(.identity), try text(.anonymousIdentity))
        let (password, privateKey) = (try secret(.password), try secret(.privateKey))
        let (clientCertificate, caCertificate) = (try text(.clientCertificate), try text(.caCertificate))
        let usesSystem = try container.decodeIfPresent(Bool.self, forKey: .systemAuthorities) ?? false
        let serverName = try text(.serverName)
        do throws(InvalidEnterprise) {
            self = .plain(
                try EnterpriseCredential(
                    method: method, inner: inner, identity: identity, anonymousIdentity: anonymousIdentity,
                    password: password, clientCertificate: clientCertificate, privateKey: privateKey,
                    caCertificate: caCertificate, usesSystemAuthorities: usesSystem, serverName: serverName))
        } catch {
            throw ProtocolError(error, at: decoder.codingPath.memberName)
        }
    }

    private static func sealed(
        _ container: KeyedDecodingContainer<SealedBox.CodingKeys>
    ) throws -> SealedEnterprise {
        guard
            let sealed = try SealedBox.read(from: container, where: SealedEnterprise.isLength)
                .flatMap(SealedEnterprise.init)
        else {
            throw ProtocolError.malformed(
                at: container.codingPath, "is not a sealed credential: a keyId, a box in Base64, a proof")
        }
        return sealed
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .sealed(let sealed):
            var members = container.nestedContainer(keyedBy: SealedBox.CodingKeys.self, forKey: .sealed)
            try sealed.sealed.write(to: &members)
        case .plain(let credential):
            func text(_ secret: Secret?) -> String? {
                secret?.withBytes { String(decoding: $0, as: UTF8.self) }
            }
            try container.encode(credential.method, forKey: .method)
            try container.encodeIfPresent(credential.inner, forKey: .inner)
            try container.encode(credential.identity, forKey: .identity)
            try container.encodeIfPresent(credential.anonymousIdentity, forKey: .anonymousIdentity)
            try container.encodeIfPresent(text(credential.password), forKey: .password)
            try container.encodeIfPresent(credential.clientCertificate, forKey: .clientCertificate)
            try container.encodeIfPresent(text(credential.privateKey), forKey: .privateKey)
            try container.encodeIfPresent(credential.caCertificate, forKey: .caCertificate)
            if credential.usesSystemAuthorities { try container.encode(true, forKey: .systemAuthorities) }
            try container.encodeIfPresent(credential.serverName, forKey: .serverName)
        }
    }
}

extension ProtocolError {
    /// - Parameter member: path of the credential in the request; empty if unknown.
    package init(_ error: InvalidEnterprise, at member: String) {
        self.init(
            .invalidEnterprise, "\(error)",
            details: ["field": .text((member.isEmpty ? "" : member + ".") + error.part.rawValue)])
    }
}
