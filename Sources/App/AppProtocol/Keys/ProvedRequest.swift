import AgentModel
import Crypto

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A request with the proof of an app's key, so that a relay cannot alter it: body of `request.prove`.
public struct ProvedRequest: Sendable, Equatable, Codable {
    /// The request's line, byte for byte. The request must have an expiry.
    public let line: String
    public let key: KeyName
    /// HMAC-SHA256 with the key's bytes over `altnet/1 request`, the SHA-256 of the line and the device ID.
    public let proof: Proof

    public init(line: String, key: KeyName = .owner, proof: Proof) {
        (self.line, self.key, self.proof) = (line, key, proof)
    }

    /// Adds the proof of an app's key to a request.
    /// - Parameter expires: at most ``ProtocolLimits/provedRequestLife`` seconds ahead.
    public init(_ request: Request, until expires: Timestamp, by device: DeviceKey) throws(ProtocolError) {
        let whole = Request(id: request.id, content: request.content, expires: expires)
        let line = String(decoding: try whole.line(), as: UTF8.self)
        self.init(
            line: line, key: device.name, proof: Proof(of: Self.message(line, device.deviceId), with: device.localKey))
    }

    /// Verifies the proof in constant time.
    package func isProved(by secret: Secret, deviceId: String) -> Bool {
        proof.isValid(of: Self.message(line, deviceId), with: secret)
    }

    /// Reads the request without checking the proof.
    /// - Throws: `malformed` with the field `body.line` if the line is not a request to the device with an expiry.
    package func request() throws(ProtocolError) -> (body: Request.Body, id: String, expires: Timestamp) {
        let request: Request
        do throws(RejectedRequest) { request = try Request(line: Array(line.utf8)) } catch { throw error.error }
        guard case .device(let body) = request.content, let expires = request.expires else {
            throw ProtocolError(
                .malformed, "the line must be a request to the device with the member expires",
                details: ["field": "body.line"])
        }
        return (body, request.id, expires)
    }

    private static func message(_ line: String, _ deviceId: String) -> [UInt8] {
        Array("altnet/\(ProtocolLimits.version) request".utf8) + Array(SHA256.hash(data: Array(line.utf8)))
            + Array(deviceId.utf8)
    }

    private enum CodingKeys: String, CodingKey {
        case line, key, proof
    }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            line: try members.decode(String.self, forKey: .line),
            key: try members.decodeIfPresent(KeyName.self, forKey: .key) ?? .owner,
            proof: try members.decode(Proof.self, forKey: .proof))
    }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(line, forKey: .line)
        if key != .owner { try members.encode(key, forKey: .key) }
        try members.encode(proof, forKey: .proof)
    }
}
