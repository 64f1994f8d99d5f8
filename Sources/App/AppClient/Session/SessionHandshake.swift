import AppProtocol

/// The app's side of opening a session: exchanges proofs of the key, over a connection whose certificate is known.
struct SessionHandshake {
    enum Effect {
        /// Send this line.
        case send([UInt8])
        /// The session is open. Later lines belong to it.
        case opened(SessionOpened)
    }

    private let device: DeviceKey
    private var transcript: SessionTranscript?

    init(_ device: DeviceKey) { self.device = device }

    /// Whether the device may have this certificate. Without a pinned one, the later proof identifies the device.
    static func accepts(_ certificate: CertificateFingerprint, from device: DeviceKey) -> Bool {
        device.certificate.map { $0 == certificate } ?? true
    }

    /// Handles a line of the device.
    /// - Parameter certificate: the certificate that the device has shown.
    /// - Throws: `ProtocolError` from the device or about its line, or `OpeningFault.notTheDevice`.
    mutating func handle(_ line: [UInt8], certificate: CertificateFingerprint) throws -> Effect {
        if let transcript {
            if case .answer(_, let failure?) = try ServerLine(line: line) { throw failure }
            let answer = try ServerLine.body(SessionOpened.self, of: line)
            guard transcript.isProof(answer.proof, of: .device, with: device.localKey) else {
                throw OpeningFault.notTheDevice
            }
            return .opened(answer)
        }
        let transcript = SessionTranscript(
            deviceId: device.deviceId, certificate: certificate, deviceNonce: try Greeting(line: line).nonce,
            appNonce: .random())
        self.transcript = transcript
        let request = transcript.opening(named: device.name, with: device.localKey)
        return .send(try Request(id: "open", content: .open(request)).line())
    }
}

/// A fault while a session opens.
enum OpeningFault: Error {
    case otherCertificate
    case notTheDevice
    /// The connection ended before the session was open.
    case closed
}
