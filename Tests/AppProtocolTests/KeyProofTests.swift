import AgentModel
import Foundation
import Testing

@testable import AppProtocol

/// What both ends prove their key with: as the document's examples have it, and for nothing else.
@Suite struct KeyProofTests {
    private let key = Secret(text: "0123456789abcdef")
    private let transcript: SessionTranscript

    init() throws {
        transcript = SessionTranscript(
            deviceId: "bench-01", certificate: try #require(CertificateFingerprint(Array(0x40..<0x60))),
            deviceNonce: try #require(Nonce(Array(32..<64))), appNonce: try #require(Nonce(Array(0..<32))))
    }

    /// The three lines of the document, from its own words.
    @Test func theDocumentsProofsAreTheCodes() throws {
        let text = ProtocolDocument.text
        #expect(text.contains("fingerprint `\(transcript.certificate)`"))
        #expect(text.contains(#"<- {"v":1,"nonce":"\#(Data(transcript.deviceNonce.bytes).base64EncodedString())"}"#))
        let line = try #require(ProtocolDocument.requests.first { $0.contains("session.open") })
        guard case .open(let request) = try Request(line: Array(line.utf8)).content else {
            Issue.record("no session.open")
            return
        }
        #expect(request.deviceId == "bench-01" && request.key == .owner && request.nonce == transcript.appNonce)
        #expect(transcript.isProof(request.proof, of: .app, with: key))
        let answer = try #require(
            ProtocolDocument.answers.first {
                $0.contains(#""role":"manage"},"#) || $0.contains(#""role":"manage"}}"#) && $0.contains("proof")
            })
        let opened = try ServerLine.body(SessionOpened.self, of: Array(answer.utf8))
        #expect(transcript.isProof(opened.proof, of: .device, with: key))
        #expect(opened.role == .manage && !opened.isInvitation)
    }

    @Test func theDocumentsSealingKeyIsProved() throws {
        let device = try DeviceKey(deviceId: "bench-01", localKey: key)
        let answer = try #require(ProtocolDocument.answers.first { $0.contains("publicKey") })
        let sealing = try ServerLine.body(SealingKey.self, of: Array(answer.utf8))
        #expect(sealing.isProved(to: device, over: transcript.appNonce))
        #expect(!sealing.isProved(to: device, over: transcript.deviceNonce))
        let other = try DeviceKey(deviceId: "bench-01", localKey: Secret(text: "0123456789abcdeg"))
        #expect(!sealing.isProved(to: other, over: transcript.appNonce))
        #expect(
            !(try #require(SealingKey(keyId: "k", publicKey: sealing.publicKey))).isProved(
                to: device, over: transcript.appNonce))
    }

    /// A proof counts for one side, key, device, certificate and pair of nonces.
    @Test func everyPartCounts() throws {
        let proof = transcript.proof(of: .app, with: key)
        let other = try #require(Nonce(Array(1..<33)))
        let (certificate, device, app) = (transcript.certificate, transcript.deviceNonce, transcript.appNonce)
        let others = [
            SessionTranscript(deviceId: "bench-02", certificate: certificate, deviceNonce: device, appNonce: app),
            SessionTranscript(
                deviceId: "bench-01", certificate: CertificateFingerprint(of: [1]), deviceNonce: device, appNonce: app),
            SessionTranscript(deviceId: "bench-01", certificate: certificate, deviceNonce: other, appNonce: app),
            SessionTranscript(deviceId: "bench-01", certificate: certificate, deviceNonce: device, appNonce: other),
            SessionTranscript(deviceId: "bench-01", certificate: certificate, deviceNonce: app, appNonce: device),
        ]
        #expect(transcript.isProof(proof, of: .app, with: key))
        #expect(others.allSatisfy { !$0.isProof(proof, of: .app, with: key) })
        #expect(!transcript.isProof(proof, of: .device, with: key))
        #expect(!transcript.isProof(proof, of: .app, with: Secret(text: "0123456789abcde")))
    }

    @Test func noncesAreDrawnAnew() { #expect(Set((0..<100).map { _ in Nonce.random() }).count == 100) }

    @Test(arguments: ["", " a", "a ", "a\nb", "\u{7f}", String(repeating: "a", count: 65)])
    func isNoName(text: String) { #expect(KeyName(text) == nil) }
}
