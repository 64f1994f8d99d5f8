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
        #expect(text.contains("`\(transcript.certificate)`"))
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

    @Test func theDocumentsRequestIsProved() throws {
        let line = try #require(ProtocolDocument.requests.first { $0.contains("request.prove") })
        guard case .prove(let proved) = try Request(line: Array(line.utf8)).content else {
            Issue.record("no request.prove")
            return
        }
        #expect(proved.isProved(by: key, deviceId: "bench-01") && !proved.isProved(by: key, deviceId: "bench-02"))
        let (body, id, expires) = try proved.request()
        #expect(body.type == .switchNetwork && id == "45" && expires.description == "2026-02-03T04:06:00.000Z")
        let again = try ProvedRequest(
            Request(id: id, content: .device(body)), until: expires,
            by: DeviceKey(deviceId: "bench-01", localKey: key))
        #expect(again == proved)
    }

    /// What a relay carries has a name in place of each hash, wherever the hash stands.
    @Test func namesSayNothingOfThePassword() throws {
        let ssid = try SSID("HomeNet")
        let hash = NetworkHash(localKey: key, ssid: ssid, password: Secret(text: "swordfish"))
        let (names, others) = (NetworkNames(derivedFrom: key), NetworkNames())
        let name = names.name(of: hash)
        #expect(name != hash && name == NetworkNames(derivedFrom: key).name(of: hash))
        #expect(name != others.name(of: hash) && others.name(of: hash) != NetworkNames().name(of: hash))
        let network = BackupNetwork(ssid: ssid, hash: hash, security: .wpa2, isHidden: false)
        let reference = NetworkName(ssid: ssid, hash: hash)
        let list = BackupList(
            max: 3, revision: 1, networks: [network], home: network, chosen: network,
            staged: [
                StagedPasswordStatus(
                    changeId: "c", ssid: ssid, phase: .staged, hash: hash, since: Timestamp(millisecondsSince1970: 0))
            ])
        var status = NetworkStatus(
            state: .online, uplink: .wifi, flags: .canSwitch, hash: hash, since: Timestamp(millisecondsSince1970: 0))
        status.standby = reference
        let decision = Decision(
            seq: 1, time: Timestamp(millisecondsSince1970: 0), monotonicMs: 0, kind: .init(rawValue: "join"),
            from: reference, to: reference, reason: ReasonCode(rawValue: "weak"), text: "joining")
        for (body, count) in [
            (Response.Body.backups(list), 4), (.network(status), 2), (.history(History(decisions: [decision])), 2),
        ] {
            let response = Response(id: "1", result: .success(body))
            let (told, named) = (text(response.line()), text(response.line(naming: names)))
            #expect(told.ranges(of: hash.base64).count == count && !named.contains(hash.base64))
            #expect(named == told.replacingOccurrences(of: hash.base64, with: name.base64))
        }
        for body in [Event.Body.networkChanged(status), .backupsChanged(list), .decision(decision)] {
            let event = Event(seq: 1, time: Timestamp(millisecondsSince1970: 0), body: body)
            #expect(text(event.line()).contains(hash.base64))
            #expect(!text(event.line(naming: names)).contains(hash.base64))
        }
    }

    private func text(_ line: [UInt8]) -> String { String(decoding: line, as: UTF8.self) }

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
