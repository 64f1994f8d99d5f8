import AgentModel
import Crypto
import Foundation
import Testing

@testable import AppProtocol

/// What the client examples are checked with (Docs/examples/vectors.json) is what the protocol computes.
// covers: seed/one-protocol, seed/user-app-developer
@Suite struct VectorTests {
    private let vectors: [String: Any]

    init() throws {
        let path = ProtocolDocument.folder.appendingPathComponent("examples/vectors.json")
        vectors = try #require(try JSONSerialization.jsonObject(with: Data(contentsOf: path)) as? [String: Any])
    }

    @Test func pairingCodesAreRead() throws {
        let pairings = try #require(vectors["pairing"] as? [[String: Any]])
        #expect(pairings.count == 4)
        for pairing in pairings {
            let code = try code(pairing)
            #expect(try code.device.deviceId == text(pairing, "deviceId"))
            #expect(try code.device.name.text == text(pairing, "name"))
            #expect(try code.device.localKey.withBytes { Hex.string($0) } == text(pairing, "key"))
            #expect(code.device.certificate?.description == pairing["cert"] as? String)
            #expect(code.isInvitation == (pairing["claim"] as? Bool ?? false))
        }
    }

    @Test func thePageNamesEveryClient() throws {
        let folder = ProtocolDocument.folder
        let page = try String(contentsOf: folder.appendingPathComponent("integrator/app.md"), encoding: .utf8)
        let files = try FileManager.default.contentsOfDirectory(
            atPath: folder.appendingPathComponent("examples").path)
        #expect(files.count >= 12)
        for file in files { #expect(page.contains("](../examples/\(file))"), "\(file)") }
    }

    @Test func bothSidesProveTheirKey() throws {
        let opening = try object("opening")
        let device = try code(opening).device
        let certificate = CertificateFingerprint(of: try bytes(opening, "certificate"))
        #expect(try certificate.description == text(opening, "fingerprint"))
        #expect(device.certificate == certificate)
        let transcript = SessionTranscript(
            deviceId: device.deviceId, certificate: certificate,
            deviceNonce: try #require(Nonce(try bytes(opening, "deviceNonce"))),
            appNonce: try #require(Nonce(try bytes(opening, "appNonce"))))
        #expect(try transcript.proof(of: .app, with: device.localKey).bytes == bytes(opening, "appProof"))
        #expect(try transcript.proof(of: .device, with: device.localKey).bytes == bytes(opening, "deviceProof"))
    }

    @Test func theKeyToSealWithIsProved() throws {
        let agreement = try object("agreement")
        let proof = try #require(Proof(try bytes(agreement, "proof")))
        let key = try #require(SealingKey(keyId: "k", publicKey: try bytes(agreement, "publicKey"), proof: proof))
        let nonce = try #require(Nonce(try bytes(agreement, "nonce")))
        #expect(try key.isProved(to: code(agreement).device, over: nonce))
    }

    /// Each box opens in its request, and holds the password that the plain request has.
    @Test func boxesOpen() throws {
        let cases = try #require(vectors["sealing"] as? [[String: Any]])
        #expect(cases.count == 3)
        for vector in cases {
            let device = try code(vector).device
            let (sealed, context) = try #require(try network(of: vector, "sealedBody"))
            let (plain, _) = try #require(try network(of: vector, "body"))
            guard case .sealed(let password) = sealed.credential, case .password(let expected) = plain.credential else {
                Issue.record("no password")
                continue
            }
            #expect(sealed.with(.none) == plain.with(.none))
            let box = password.sealed.bytes
            let described = context.text(deviceId: device.deviceId)
            #expect(try described == text(vector, "context"))
            #expect(password.sealed.key == device.name)
            #expect(password.sealed.proof.isValid(of: SealedBox.message(box, described), with: device.localKey))
            let privateKey = try Curve25519.KeyAgreement.PrivateKey(
                rawRepresentation: #require(Hex.bytes(try text(vector, "privateKey"))))
            #expect(privateKey.publicKey.keyId == password.sealed.keyId)
            let ephemeral = try Curve25519.KeyAgreement.PrivateKey(
                rawRepresentation: #require(Hex.bytes(try text(vector, "ephemeralKey"))))
            #expect(Array(ephemeral.publicKey.rawRepresentation) == Array(box.prefix(32)))
            var recipient = try HPKE.Recipient(
                privateKey: privateKey, ciphersuite: SealedBox.suite, info: SealedBox.info,
                encapsulatedKey: Data(box.prefix(32)))
            let padded = try recipient.open(box.dropFirst(32), authenticating: Data(described.utf8))
            let content = expected.withBytes { Data($0) }
            #expect(padded == content + Data(count: 64 - content.count))
        }
    }

    /// The part of Docs/examples/client.swift that needs no Apple system, which is compiled into these tests.
    @Test func theSwiftClientComputesThem() throws {
        for vector in try #require(vectors["pairing"] as? [[String: Any]]) {
            let pairing = try DevicePairing(text(vector, "code"))
            #expect(try pairing.id == text(vector, "deviceId"))
            #expect(try pairing.name == text(vector, "name"))
            #expect(try pairing.key.withUnsafeBytes { Hex.string($0) } == text(vector, "key"))
            #expect(pairing.certificate.map { Hex.string($0) } == vector["cert"] as? String)
        }
        let (opening, agreement) = (try object("opening"), try object("agreement"))
        for side in ["app", "device"] {
            let proof = try DevicePairing(text(opening, "code")).openingProof(
                side, certificate: Data(SHA256.hash(data: try bytes(opening, "certificate"))),
                deviceNonce: Data(bytes(opening, "deviceNonce")), appNonce: Data(bytes(opening, "appNonce")))
            #expect(try Array(proof) == bytes(opening, side + "Proof"))
        }
        let proof = try DevicePairing(text(agreement, "code")).agreementProof(
            publicKey: Data(bytes(agreement, "publicKey")), nonce: Data(bytes(agreement, "nonce")))
        #expect(try Array(proof) == bytes(agreement, "proof"))
        #expect(throws: DeviceFault.self) { try DevicePairing("https://example.com/?v=1&id=a&key=b") }
    }

    @Test func theDeviceOpensWhatTheSwiftClientSeals() throws {
        for vector in try #require(vectors["sealing"] as? [[String: Any]]) {
            let device = try code(vector).device
            let opener = SealOpener(deviceId: device.deviceId) { name, _ in
                name == device.name ? device.localKey : nil
            }
            let (network, context) = try #require(try network(of: vector, "body"))
            let body = try #require(vector["body"] as? [String: Any])
            let entries = (body["networks"] as? [[String: Any]] ?? []) + [body["home"] as? [String: Any] ?? body]
            let entry = try #require(entries.first { $0["password"] != nil })
            let pairing = try DevicePairing(text(vector, "code"))
            let described = pairing.sealContext(place: context.place.rawValue, network: entry, body: body)
            #expect(try described == text(vector, "context"))
            let key = try opener.key
            let sealed = try pairing.seal(
                #require(entry["password"] as? String), context: described, keyId: key.keyId,
                publicKey: Data(key.publicKey))
            let password = try JSONDecoder().decode(SealedPassword.self, from: JSONEncoder().encode(sealed))
            #expect(try .password(opener.open(password, in: context)) == network.credential)
        }
    }

    /// The network with a password in the request that a vector has, and what a box for it is bound to.
    private func network(of vector: [String: Any], _ body: String) throws -> (NewNetwork, SealContext)? {
        let line = try JSONSerialization.data(withJSONObject: [
            "v": 1, "id": "a", "type": text(vector, "type"), "body": #require(vector[body]),
        ])
        switch try Request(line: line).content {
        case .device(.switchNetwork(let request)):
            guard case .new(let network) = request.target else { return nil }
            return (network, SealContext(of: network, in: request))
        case .device(.updateBackups(let update)):
            if case .new(let network)? = update.home?.network {
                return (network, SealContext(of: network, in: update, isHome: true))
            }
            for case .new(let network) in update.networks where network.credential != .none {
                return (network, SealContext(of: network, in: update))
            }
            return nil
        default: return nil
        }
    }

    private func object(_ name: String) throws -> [String: Any] { try #require(vectors[name] as? [String: Any]) }

    private func text(_ vector: [String: Any], _ name: String) throws -> String {
        try #require(vector[name] as? String)
    }

    private func bytes(_ vector: [String: Any], _ name: String) throws -> [UInt8] {
        Array(try #require(Data(base64Encoded: try text(vector, name))))
    }

    private func code(_ vector: [String: Any]) throws -> PairingCode {
        try PairingCode(reading: Array(text(vector, "code").utf8))
    }
}
