import AgentModel

/// The device's first line over the network, inside TLS: `{"v":1,"nonce":"..."}`.
public struct Greeting: Sendable, Equatable {
    public let nonce: Nonce

    public init(nonce: Nonce) { self.nonce = nonce }

    /// Reads a line without its line feed.
    /// - Throws: `malformed`, `unsupportedVersion`, or the device's error, such as `busy`.
    public init(line: some Collection<UInt8>) throws(ProtocolError) {
        nonce = try Line.decode(GreetingEnvelope.self, from: line).nonce
    }

    /// Returns the greeting as a line without line feed.
    public func line() throws(ProtocolError) -> [UInt8] { try Line.encode(GreetingEnvelope(nonce: nonce)) }
}

private struct GreetingEnvelope: Codable {
    let nonce: Nonce

    private enum CodingKeys: String, CodingKey {
        case v, nonce, error
    }

    init(nonce: Nonce) { self.nonce = nonce }

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        if let error = try members.decodeIfPresent(ProtocolError.self, forKey: .error) { throw error }
        guard try members.decode(Int.self, forKey: .v) == ProtocolLimits.version else {
            throw ProtocolError(.unsupportedVersion, "the device uses another version of the protocol")
        }
        nonce = try members.decode(Nonce.self, forKey: .nonce)
    }

    func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(ProtocolLimits.version, forKey: .v)
        try members.encode(nonce, forKey: .nonce)
    }
}

/// Proof that the app has a key: body of `session.open`, the app's first line over the network.
public struct SessionRequest: Sendable, Equatable {
    public let deviceId: String
    public let key: KeyName
    /// The app's nonce, covered by the device's proof.
    public let nonce: Nonce
    public let proof: Proof

    public init(deviceId: String, key: KeyName, nonce: Nonce, proof: Proof) {
        (self.deviceId, self.key, self.nonce, self.proof) = (deviceId, key, nonce, proof)
    }
}

/// Proof that the device has the key: answer to `session.open`.
public struct SessionOpened: Sendable, Equatable, Codable {
    public let proof: Proof
    public let role: Role
    /// Whether the key is only valid for `key.claim`.
    public let isInvitation: Bool

    public init(proof: Proof, role: Role, isInvitation: Bool = false) {
        (self.proof, self.role, self.isInvitation) = (proof, role, isInvitation)
    }

    private enum CodingKeys: String, CodingKey {
        case proof, role
        case isInvitation = "invitation"
    }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            proof: try members.decode(Proof.self, forKey: .proof), role: try members.decode(Role.self, forKey: .role),
            isInvitation: try members.decodeIfPresent(Bool.self, forKey: .isInvitation) ?? false)
    }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(proof, forKey: .proof)
        try members.encode(role, forKey: .role)
        if isInvitation { try members.encode(true, forKey: .isInvitation) }
    }
}

/// The data of both proofs: the certificate that the app received, and both nonces.
///
/// An attacker between app and device has another certificate, so a relayed proof is invalid.
public struct SessionTranscript: Sendable, Equatable {
    public let deviceId: String
    /// The certificate that the app received in the TLS handshake.
    public let certificate: CertificateFingerprint
    public let deviceNonce: Nonce
    public let appNonce: Nonce

    public init(deviceId: String, certificate: CertificateFingerprint, deviceNonce: Nonce, appNonce: Nonce) {
        (self.deviceId, self.certificate) = (deviceId, certificate)
        (self.deviceNonce, self.appNonce) = (deviceNonce, appNonce)
    }

    /// Side of the connection that gives a proof.
    public enum Side: String, Sendable {
        case app, device
    }

    /// HMAC-SHA256 with the key's bytes over `altnet/1 app` or `altnet/1 device`, the certificate's SHA-256, the
    /// device's nonce, the app's nonce and the device ID. Hash and nonces have 32 bytes each.
    public func proof(of side: Side, with key: Secret) -> Proof { Proof(of: message(side), with: key) }

    /// Returns the app's request `session.open`, with its proof.
    /// - Parameter key: bytes of the app's key.
    public func opening(named name: KeyName = .owner, with key: Secret) -> SessionRequest {
        SessionRequest(deviceId: deviceId, key: name, nonce: appNonce, proof: proof(of: .app, with: key))
    }

    /// Checks the proof in constant time.
    public func isProof(_ proof: Proof, of side: Side, with key: Secret) -> Bool {
        proof.isValid(of: message(side), with: key)
    }

    private func message(_ side: Side) -> [UInt8] {
        Array("altnet/\(ProtocolLimits.version) \(side.rawValue)".utf8) + certificate.bytes + deviceNonce.bytes
            + appNonce.bytes + Array(deviceId.utf8)
    }
}

extension SessionRequest: Codable {
    private enum CodingKeys: String, CodingKey {
        case deviceId, key, nonce, proof
    }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        let deviceId = try members.decode(String.self, forKey: .deviceId)
        guard ProtocolLimits.deviceIdLength.contains(deviceId.utf8.count) else {
            throw ProtocolError.malformed(at: decoder.codingPath + [CodingKeys.deviceId], "must have 1 to 64 bytes")
        }
        self.init(
            deviceId: deviceId,
            key: try members.decodeIfPresent(KeyName.self, forKey: .key) ?? .owner,
            nonce: try members.decode(Nonce.self, forKey: .nonce),
            proof: try members.decode(Proof.self, forKey: .proof))
    }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(deviceId, forKey: .deviceId)
        try members.encode(key, forKey: .key)
        try members.encode(nonce, forKey: .nonce)
        try members.encode(proof, forKey: .proof)
    }
}
