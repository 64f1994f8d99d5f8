import AgentModel
import AppProtocol
import Testing

@testable import AppClient

/// The opening of a session, without a connection.
// covers: seed/key-agreement
@Suite struct SessionHandshakeTests {
    private let certificate = CertificateFingerprint(of: [1, 2, 3])
    private let nonce = Nonce.random()

    /// Returns the app's proof, and the answer of a device with the key of `device`.
    private func answer(to effect: SessionHandshake.Effect, from device: DeviceKey) throws -> [UInt8] {
        guard case .send(let line) = effect, case .open(let opening) = try Request(line: line).content else {
            throw OpeningFault.closed
        }
        let transcript = SessionTranscript(
            deviceId: Fixture.device.deviceId, certificate: certificate, deviceNonce: nonce, appNonce: opening.nonce)
        #expect(transcript.isProof(opening.proof, of: .app, with: Fixture.device.localKey))
        let opened = SessionOpened(proof: transcript.proof(of: .device, with: device.localKey), role: .switch)
        return Response(id: "open", result: .success(.opened(opened))).line()
    }

    @Test func opensWithADeviceThatProvesItsKey() throws {
        var handshake = SessionHandshake(Fixture.device)
        let proof = try handshake.handle(Greeting(nonce: nonce).line(), certificate: certificate)
        let line = try answer(to: proof, from: Fixture.device)
        guard case .opened(let session) = try handshake.handle(line, certificate: certificate) else {
            throw OpeningFault.closed
        }
        #expect(session.role == .switch)
    }

    @Test func refusesAnotherDevice() throws {
        var handshake = SessionHandshake(Fixture.device)
        let proof = try handshake.handle(Greeting(nonce: nonce).line(), certificate: certificate)
        let other = try DeviceKey(deviceId: "board-1", localKey: Secret(text: "fedcba9876543210"))
        let line = try answer(to: proof, from: other)
        #expect(throws: OpeningFault.notTheDevice) { try handshake.handle(line, certificate: certificate) }
    }

    @Test func passesTheDevicesErrorsOn() throws {
        let busy = ProtocolError(.busy, "too many connections")
        let line = Response(id: nil, result: .failure(busy)).line()
        var handshake = SessionHandshake(Fixture.device)
        #expect(throws: busy) { try handshake.handle(line, certificate: certificate) }
        _ = try handshake.handle(Greeting(nonce: nonce).line(), certificate: certificate)
        #expect(throws: busy) { try handshake.handle(line, certificate: certificate) }
        #expect(throws: ProtocolError.self) { try handshake.handle(Array("x".utf8), certificate: certificate) }
    }

    @Test func pinsTheCertificateOfThePairingCode() throws {
        var device = Fixture.device
        #expect(SessionHandshake.accepts(certificate, from: device))
        device.certificate = certificate
        #expect(SessionHandshake.accepts(certificate, from: device))
        #expect(!SessionHandshake.accepts(CertificateFingerprint(of: [4]), from: device))
    }
}
