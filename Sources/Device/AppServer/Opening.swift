import AgentModel
import AppProtocol

/// The opening of a session: the device sends a nonce, the app proves its key, and the device proves it too.
struct Opening {
    enum Outcome {
        /// - Parameter answer: sent before anything else.
        case opened(AppKey, answer: [UInt8])
        /// - Parameter answer: sent before closing.
        case refused(HandshakeFailure, answer: [UInt8])
    }

    private let deviceId: String
    private let certificate: CertificateFingerprint
    private let keys: any AppKeyDirectory
    private let nonce: Nonce

    init(_ credentials: AppCredentials, nonce: Nonce = .random()) {
        (deviceId, certificate, keys) = (credentials.deviceId, credentials.certificate.fingerprint, credentials.keys)
        self.nonce = nonce
    }

    func greeting() throws(ProtocolError) -> [UInt8] { try Greeting(nonce: nonce).line() }

    func answer(_ line: [UInt8]) -> Outcome {
        let request: Request
        do {
            request = try Request(line: line)
        } catch {
            return refused(.notUnderstood, error.error, id: error.id)
        }
        guard case .open(let opening) = request.content else {
            let error = ProtocolError(
                .proofRequired, "the app must open a session first: send session.open as the first line")
            return refused(.notUnderstood, error, id: request.id)
        }
        let transcript = SessionTranscript(
            deviceId: deviceId, certificate: certificate, deviceNonce: nonce, appNonce: opening.nonce)
        let key = keys.key(named: opening.key)
        // An unknown name takes as long as a wrong key and fails in the same way.
        let secret = key?.secret ?? Secret(nonce.bytes)
        let isProved = transcript.isProof(opening.proof, of: .app, with: secret)
        guard let key, isProved, opening.deviceId == deviceId else {
            let error = ProtocolError(.keyRefused, "the device has no such key")
            return refused(.wrongKey, error, id: request.id)
        }
        switch key.state {
        case .valid: break
        case .expired: return refused(.endedKey, ProtocolError(.keyExpired, "this key has expired"), id: request.id)
        case .revoked: return refused(.endedKey, ProtocolError(.keyRevoked, "this key was revoked"), id: request.id)
        }
        let opened = SessionOpened(
            proof: transcript.proof(of: .device, with: key.secret), role: key.role, isInvitation: key.isInvitation)
        return .opened(key, answer: Response(id: request.id, result: .success(.opened(opened))).line())
    }

    private func refused(_ failure: HandshakeFailure, _ error: ProtocolError, id: String?) -> Outcome {
        .refused(failure, answer: Response(id: id, result: .failure(error)).line())
    }
}
