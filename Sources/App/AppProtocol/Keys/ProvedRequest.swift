import AgentModel
import Crypto

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A request with the proof of an app's key, so that a relay can carry it and not alter it: the body of `request.prove`.
public struct ProvedRequest: Sendable, Equatable, Codable {
    /// The request as one line, byte for byte as it was proved. It says when it expires.
    public let line: String
    /// The name of the app's key.
    public let key: KeyName
    /// HMAC-SHA256 with the bytes of the key, of `altnet/1 request`, the SHA-256 of the line and the device id.
    public let proof: Proof

    public init(line: String, key: KeyName = .owner, proof: Proof) {
        (self.line, self.key, self.proof) = (line, key, proof)
    }

    /// Proves a request with an app's key.
    /// - Parameter expires: at most ``ProtocolLimits/provedRequestLife`` seconds ahead.
    public init(_ request: Request, until expires: Timestamp, by device: DeviceKey) throws(ProtocolError) {
        let whole = Request(id: request.id, content: request.content, expires: expires)
        let line = String(decoding: try whole.line(), as: UTF8.self)
        self.init(
            line: line, key: device.name, proof: Proof(of: Self.message(line, device.deviceId), with: device.localKey))
    }

    /// Returns whether the key has made the proof, in a time that does not depend on where the proof is wrong.
    package func isProved(by secret: Secret, deviceId: String) -> Bool {
        proof.isValid(of: Self.message(line, deviceId), with: secret)
    }

    /// Reads the request in it. That does not check the proof.
    /// - Throws: `malformed`, with the field `body.line`, where it is no request, has no end, or is none to prove.
    package func request() throws(ProtocolError) -> (body: Request.Body, id: String, expires: Timestamp) {
        let request: Request
        do throws(RejectedRequest) { request = try Request(line: Array(line.utf8)) } catch { throw error.error }
        guard case .device(let body) = request.content, let expires = request.expires else {
            throw ProtocolError(
                .malformed, "a proved request is one to the device, with expires", details: ["field": "body.line"])
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
