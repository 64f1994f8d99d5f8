import AgentModel
import Crypto

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The credential of an enterprise network that only the device can read, over any relay.
///
/// All of it is sealed, and not only what is secret: a relay that could name another authority would get the password
/// by a server of its own. Sealed as ``SealedPassword`` is, with the JSON of the credential in the password's place.
public struct SealedEnterprise: Sendable, Equatable {
    /// The device's key that it was sealed with.
    public let keyId: String
    /// The encapsulated key and, after it, the ciphertext.
    public let box: [UInt8]

    /// The JSON is padded with zeros to a multiple of so many bytes, so that the box tells little of its length.
    public static let paddingStep = 1024
    /// The most of them: more than the longest credential takes.
    public static let maximumSteps = 16

    public init?(keyId: String, box: [UInt8]) {
        let padded = box.count - SealedPassword.overhead
        guard ProtocolLimits.keyIdLength.contains(keyId.utf8.count), padded > 0,
            padded.isMultiple(of: Self.paddingStep), padded <= Self.maximumSteps * Self.paddingStep
        else { return nil }
        self.keyId = keyId
        self.box = box
    }
}

extension SealingKey {
    /// Seals a credential for one enterprise network of one device. Every call makes another box.
    /// - Throws: `sealInvalid` where the key is none.
    public func seal(
        _ credential: EnterpriseCredential, ssid: SSID, for device: DeviceKey
    ) throws(ProtocolError) -> SealedEnterprise {
        var text = try Line.encode(EnterpriseMessage.plain(credential))
        defer { text.withUnsafeMutableBytes { wipe($0) } }
        let steps = (text.count + SealedEnterprise.paddingStep - 1) / SealedEnterprise.paddingStep
        guard steps <= SealedEnterprise.maximumSteps else {
            throw ProtocolError(.invalidEnterprise, "the credential is longer than a box can be")
        }
        let padded = steps * SealedEnterprise.paddingStep
        guard let box = try? box(Secret(text), paddedTo: padded, ssid: ssid, device: device),
            let sealed = SealedEnterprise(keyId: keyId, box: box)
        else {
            throw ProtocolError(.sealInvalid, "the device's key is none to seal with")
        }
        return sealed
    }
}

extension SealOpener {
    /// Opens a sealed credential, once: also where the request that it came with fails later, or where what is in it is
    /// none.
    /// - Throws: `keyRotated`, `sealInvalid`, `sealUsed`, `malformed`, or `invalidEnterprise`.
    public func open(_ sealed: SealedEnterprise, ssid: SSID) throws(ProtocolError) -> EnterpriseCredential {
        let text = try open(sealed.box, keyId: sealed.keyId, ssid: ssid)
        let message: EnterpriseMessage
        do {
            message = try text.withBytes { text throws(ProtocolError) in
                try Line.decode(EnterpriseMessage.self, from: text)
            }
        } catch {
            // Where it stands in the request is the caller's to say.
            throw ProtocolError(error.code, error.message)
        }
        guard case .plain(let credential) = message else {
            throw ProtocolError(.invalidEnterprise, "a sealed credential has another in it")
        }
        return credential
    }
}

/// `enterprise` beside a network's name: a credential, or `{"sealed":{...}}`.
enum EnterpriseMessage: Sendable, Equatable {
    case plain(EnterpriseCredential)
    case sealed(SealedEnterprise)
}

extension EnterpriseMessage: Codable {
    private enum CodingKeys: String, CodingKey {
        case method, inner, identity, anonymousIdentity, password, clientCertificate, privateKey, caCertificate
        case systemAuthorities, serverName, sealed
    }

    private enum BoxKeys: String, CodingKey {
        case keyId, box
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if container.contains(.sealed), try !container.decodeNil(forKey: .sealed) {
            self = .sealed(try Self.sealed(container.nestedContainer(keyedBy: BoxKeys.self, forKey: .sealed)))
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

    private static func sealed(_ container: KeyedDecodingContainer<BoxKeys>) throws -> SealedEnterprise {
        let box = Data(base64Encoded: try container.decode(String.self, forKey: .box)).map(Array.init) ?? []
        guard
            let sealed = SealedEnterprise(keyId: try container.decode(String.self, forKey: .keyId), box: box)
        else {
            throw ProtocolError.malformed(
                at: container.codingPath, "is not a sealed credential: a keyId and a box in Base64")
        }
        return sealed
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .sealed(let sealed):
            var members = container.nestedContainer(keyedBy: BoxKeys.self, forKey: .sealed)
            try members.encode(sealed.keyId, forKey: .keyId)
            try members.encode(Data(sealed.box).base64EncodedString(), forKey: .box)
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
    /// - Parameter member: of the credential in the request; empty where it is not known.
    package init(_ error: InvalidEnterprise, at member: String = "") {
        self.init(
            .invalidEnterprise, "\(error)",
            details: ["field": .text((member.isEmpty ? "" : member + ".") + error.part.rawValue)])
    }
}
