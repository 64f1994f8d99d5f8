import AgentModel
import Crypto
import Foundation
import Synchronization
import Testing

@testable import AppProtocol

/// A box opens once, for the device and the network that it was sealed for, while the key is there.
@Suite struct SealingTests {
    static let localKey = Secret(text: "0123456789abcdef")
    static let password = Secret(text: "correct horse")

    let device: DeviceKey
    let attic: SSID

    init() throws {
        device = try DeviceKey(deviceId: "bench-01", localKey: Self.localKey)
        attic = try SSID("Attic")
    }

    // covers: seed/key-agreement
    @Test(arguments: [8, 13, 63])
    func whatIsSealedOpens(length: Int) throws {
        let opener = SealOpener(device)
        let password = Secret(repeatElement(UInt8(ascii: " "), count: length))
        let sealed = try opener.key.seal(password, ssid: attic, for: device)
        #expect(try opener.open(sealed, ssid: attic) == password)
        #expect(sealed.box.count == SealedPassword.length)
    }

    /// SSIDs of bytes that are no text, of every length.
    @Test func anyNetworkWillDo() throws {
        let opener = SealOpener(device)
        for length in 1...32 {
            let ssid = try SSID(bytes: (0..<length).map { UInt8(255 - $0) })
            let sealed = try opener.key.seal(Self.password, ssid: ssid, for: device)
            #expect(try opener.open(sealed, ssid: ssid) == Self.password)
        }
    }

    @Test func aBoxOpensOnce() throws {
        let opener = SealOpener(device)
        let sealed = try opener.key.seal(Self.password, ssid: attic, for: device)
        _ = try opener.open(sealed, ssid: attic)
        #expect(code { try opener.open(sealed, ssid: attic) } == .sealUsed)
        #expect(try opener.open(opener.key.seal(Self.password, ssid: attic, for: device), ssid: attic) == Self.password)
        #expect(code { try opener.open(sealed, ssid: attic) } == .sealUsed)
    }

    // covers: seed/key-agreement
    @Test func aBoxOpensForItsNetworkOnly() throws {
        let opener = SealOpener(device)
        let sealed = try opener.key.seal(Self.password, ssid: attic, for: device)
        let other = try SSID("attic")
        #expect(code { try opener.open(sealed, ssid: other) } == .sealInvalid)
        // A box that failed to open is not used up.
        #expect(try opener.open(sealed, ssid: attic) == Self.password)
    }

    @Test func onlyTheOwnerCanSeal() throws {
        let opener = SealOpener(device)
        for other in [
            try DeviceKey(deviceId: "bench-01", localKey: Secret(text: "0123456789abcdeg")),
            try DeviceKey(deviceId: "bench-02", localKey: Self.localKey),
        ] {
            let sealed = try opener.key.seal(Self.password, ssid: attic, for: other)
            #expect(code { try opener.open(sealed, ssid: attic) } == .sealInvalid)
        }
    }

    @Test func everyBitCounts() throws {
        let opener = SealOpener(device)
        let sealed = try opener.key.seal(Self.password, ssid: attic, for: device)
        for bit in 0..<8 * sealed.box.count {
            var box = sealed.box
            box[bit / 8] ^= 1 << (bit % 8)
            let bent = try #require(sealed.with(box))
            #expect(code { try opener.open(bent, ssid: attic) } == .sealInvalid)
        }
        #expect(try opener.open(sealed, ssid: attic) == Self.password)
    }

    /// X25519 agrees on zeros with the points of small order and their other spellings (RFC 7748, clause 6.1), so that
    /// every holder of the local key would know the password.
    @Test(arguments: [
        String(repeating: "00", count: 32), "01" + String(repeating: "00", count: 31),
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        "ec" + String(repeating: "ff", count: 30) + "7f", "ed" + String(repeating: "ff", count: 30) + "7f",
    ])
    func pointsOfSmallOrderAreRefused(hex: String) throws {
        let point = try #require(Hex.bytes(hex))
        let key = try #require(SealingKey(keyId: "point", publicKey: point))
        #expect(code { try key.seal(Self.password, ssid: attic, for: device) } == .sealInvalid)
        let opener = SealOpener(device)
        let recipient = try opener.key
        let text = SealContext(to: attic).text(deviceId: device.deviceId)
        let box = point + (try HPKEByHand.seal(Self.password, text, to: recipient, as: point))
        let proof = Proof(of: SealedBox.message(box, text), with: device.localKey)
        let sealed = try #require(
            SealedBox(keyId: recipient.keyId, bytes: box, proof: proof).flatMap(SealedPassword.init))
        #expect(code { try opener.open(sealed, ssid: attic) } == .sealInvalid)
    }

    @Test(arguments: ["", "1234567", "with a line\nfeed", "café in the attic"])
    func onlyPasswordsAreSealed(text: String) throws {
        let key = try SealOpener(device).key
        #expect(code { try key.seal(Secret(text: text), ssid: attic, for: device) } == .invalidPassword)
    }

    /// With the word `wpa3-sae` on both sides, as it stands beside the box.
    @Test(arguments: ["1", "café", String(repeating: "é", count: 32)])
    func passwordsOfWPA3AreSealed(text: String) throws {
        let opener = SealOpener(device)
        let password = Secret(text: text)
        let sealed = try opener.key.seal(password, ssid: attic, for: device, security: .wpa3)
        #expect(try opener.open(sealed, ssid: attic, security: .wpa3) == password)
        // The word belongs to the box.
        let other = try opener.key.seal(password, ssid: attic, for: device, security: .wpa3)
        #expect(code { try opener.open(other, ssid: attic) } == .sealInvalid)
    }

    private static let certificate = "-----BEGIN CERTIFICATE-----\nMAMCAQA=\n-----END CERTIFICATE-----\n"

    /// The box holds the whole credential: no relay can put another authority in.
    @Test func credentialsOfUsersAreSealedAsAWhole() throws {
        let opener = SealOpener(device)
        let credential = try EnterpriseCredential(
            method: .tls, identity: "board7",
            clientCertificate: String(repeating: Self.certificate, count: 60),
            privateKey: Secret(text: Self.certificate.replacing("CERTIFICATE", with: "PRIVATE KEY")),
            caCertificate: Self.certificate, serverName: "radius.example.com")
        let network = NewNetwork(ssid: attic, credential: .enterprise(credential))
        let context = SealContext(of: network, in: BackupsUpdate(networks: [.new(network)]))
        let sealed = try opener.key.seal(credential, in: context, for: device)
        #expect((sealed.sealed.bytes.count - 48).isMultiple(of: SealedEnterprise.paddingStep))
        let told = NewNetwork(ssid: attic, credential: .sealedEnterprise(sealed), security: .enterprise)
        let request = Request(id: "a", content: .device(.updateBackups(BackupsUpdate(networks: [.new(told)]))))
        let line = try request.line()
        #expect(!String(decoding: line, as: UTF8.self).contains("board7"))
        #expect(try Request(line: line) == request)
        #expect(try opener.open(sealed, in: context) == credential)
        #expect(code { _ = try opener.open(sealed, in: context) } == .sealUsed)
        let other = try opener.key.seal(credential, in: context, for: device)
        #expect(code { _ = try opener.open(other, in: SealContext(to: try SSID("Cellar"))) } == .sealInvalid)
    }

    /// What is in a box is read as what came in the plain, and no box is in a box.
    @Test(arguments: [
        (#"{"method":"peap","identity":"u","password":"p"}"#, ErrorCode.invalidEnterprise), ("{}", .malformed),
        ("12345678", .malformed), (#"{"method":"md5","identity":"u"}"#, .malformed),
        (#"{"sealed":{"keyId":"k","box":"@BOX@","proof":"@PROOF@"}}"#, .invalidEnterprise),
    ])
    func whatIsNoCredentialIsRefused(text: String, error: ErrorCode) throws {
        let opener = SealOpener(device)
        let box = String(repeating: "A", count: 1430) + "=="
        let content = Secret(
            text: text.replacing("@BOX@", with: box).replacing("@PROOF@", with: Data(count: 32).base64EncodedString()))
        let padded = (content.count + 1023) / 1024 * 1024
        let context = SealContext(to: attic)
        let sealed = try #require(
            SealedEnterprise(try opener.key.box(content, paddedTo: padded, in: context, for: device)))
        #expect(code { _ = try opener.open(sealed, in: context) } == error)
    }

    @Test func boxesHaveTheirLengths() {
        for length in [0, 48, 112, 1024, 1071, 1073, 16 * 1024 + 49, 17 * 1024 + 48] {
            #expect(box(of: length).flatMap(SealedEnterprise.init) == nil)
        }
        for length in [1024 + 48, 16 * 1024 + 48] {
            #expect(box(of: length).flatMap(SealedEnterprise.init) != nil)
        }
        #expect(box(of: 1072, keyId: "") == nil)
    }

    private func box(of length: Int, keyId: String = "k") -> SealedBox? {
        SealedBox(
            keyId: keyId, bytes: [UInt8](repeating: 0, count: length), proof: Proof(of: [], with: Self.localKey))
    }

    @Test func aBoxTakesNoMoreThanItHolds() throws {
        let key = try SealOpener(device).key
        let long = Secret(text: String(repeating: "a", count: 65))
        #expect(code { try key.seal(long, ssid: attic, for: device, security: .wpa3) } == .invalidPassword)
    }

    @Test func equalPasswordsMakeDifferentBoxes() throws {
        let key = try SealOpener(device).key
        #expect(
            try key.seal(Self.password, ssid: attic, for: device).box
                != key.seal(Self.password, ssid: attic, for: device).box)
    }

    // MARK: Rotation

    @Test func aRestartForgetsWhatWasSealed() throws {
        let before = SealOpener(device)
        let sealed = try before.key.seal(Self.password, ssid: attic, for: device)
        _ = try before.open(sealed, ssid: attic)
        let after = SealOpener(device)
        #expect(code { try after.open(sealed, ssid: attic) } == .keyRotated)
        #expect(try after.key != before.key)
    }

    @Test func keysAgeAndHaveTheirGrace() throws {
        let clock = TestClock()
        let opener = SealOpener(device, now: clock.read)
        let first = try opener.key
        clock.advance(by: .seconds(ProtocolLimits.sealingKeyAge - 1))
        #expect(try opener.key == first)
        clock.advance(by: .seconds(1))
        let second = try opener.key
        #expect(second != first)
        #expect(try opener.open(first.seal(Self.password, ssid: attic, for: device), ssid: attic) == Self.password)
        clock.advance(by: .seconds(ProtocolLimits.sealingKeyGrace - 1))
        let late = try first.seal(Self.password, ssid: attic, for: device)
        #expect(try opener.open(late, ssid: attic) == Self.password)
        #expect(code { try opener.open(late, ssid: attic) } == .sealUsed)
        clock.advance(by: .seconds(1))
        #expect(code { try opener.open(late, ssid: attic) } == .keyRotated)
        #expect(try opener.key == second)
    }

    /// The grace runs from the end of a key's age, also without a request in between.
    @Test func anIdleDeviceKeepsNoOldKey() throws {
        let clock = TestClock()
        let opener = SealOpener(device, now: clock.read)
        let sealed = try opener.key.seal(Self.password, ssid: attic, for: device)
        clock.advance(by: .seconds(ProtocolLimits.sealingKeyAge + ProtocolLimits.sealingKeyGrace))
        #expect(code { try opener.open(sealed, ssid: attic) } == .keyRotated)
    }

    @Test func keysWearOut() throws {
        let clock = TestClock()
        let opener = SealOpener(device, rotation: SealRotation(boxes: 3), now: clock.read)
        let first = try opener.key
        let opened = try (0..<3).map { _ in try first.seal(Self.password, ssid: attic, for: device) }
        for sealed in opened {
            #expect(try opener.key == first)
            _ = try opener.open(sealed, ssid: attic)
        }
        #expect(try opener.key != first)
        #expect(opened.allSatisfy { sealed in code { try opener.open(sealed, ssid: attic) } == .sealUsed })
        // Boxes on their way still open, as many again; not for ever.
        for _ in 0..<3 { _ = try opener.open(first.seal(Self.password, ssid: attic, for: device), ssid: attic) }
        let late = try first.seal(Self.password, ssid: attic, for: device)
        #expect(code { try opener.open(late, ssid: attic) } == .keyRotated)
    }

    @Test func whatDoesNotOpenWearsNoKeyOut() throws {
        let opener = SealOpener(device, rotation: SealRotation(boxes: 3))
        let first = try opener.key
        let stranger = try DeviceKey(deviceId: "bench-01", localKey: Secret(text: "fedcba9876543210"))
        for _ in 0..<20 {
            let sealed = try first.seal(Self.password, ssid: attic, for: stranger)
            #expect(code { try opener.open(sealed, ssid: attic) } == .sealInvalid)
        }
        #expect(try opener.key == first)
    }

    /// Of many that open one box at the same time, one does.
    @Test func oneOfManyOpensABox() async throws {
        let opener = SealOpener(device)
        let sealed = try opener.key.seal(Self.password, ssid: attic, for: device)
        let codes = await withTaskGroup { group in
            for _ in 0..<16 { group.addTask { code { try opener.open(sealed, ssid: attic) } } }
            return await group.reduce(into: [ErrorCode?]()) { $0.append($1) }
        }
        #expect(codes.filter { $0 == nil }.count == 1)
        #expect(codes.filter { $0 == .sealUsed }.count == 15)
    }
}

/// - Returns: how `body` failed, nil if it did not.
func code(_ body: () throws -> some Any) -> ErrorCode? {
    do {
        _ = try body()
        return nil
    } catch {
        return (error as? ProtocolError)?.code ?? .internalError
    }
}

// Most tests are of a network that is switched to.
extension SealContext {
    init(to ssid: SSID, _ security: Security? = nil, isEnterprise: Bool = false) {
        let target = NewNetwork(
            ssid: ssid, password: Secret(text: "12345678"), security: isEnterprise ? .enterprise : security)
        self.init(of: target, in: SwitchRequest(target: .new(target)))
    }
}

extension SealingKey {
    func seal(
        _ password: Secret, ssid: SSID, for device: DeviceKey, security: Security? = nil
    ) throws(ProtocolError) -> SealedPassword {
        try seal(password, in: SealContext(to: ssid, security), for: device)
    }
}

extension SealOpener {
    func open(_ sealed: SealedPassword, ssid: SSID, security: Security? = nil) throws(ProtocolError) -> Secret {
        try open(sealed, in: SealContext(to: ssid, security))
    }
}

extension SealedPassword {
    var keyId: String { sealed.keyId }
    var box: [UInt8] { sealed.bytes }

    /// The same password in another box.
    func with(_ bytes: [UInt8]) -> SealedPassword? {
        SealedBox(keyId: sealed.keyId, bytes: bytes, key: sealed.key, proof: sealed.proof).flatMap(SealedPassword.init)
    }
}

/// A clock that stands still until the test advances it.
private final class TestClock: Sendable {
    private let instant = Mutex(ContinuousClock.now)

    var read: @Sendable () -> ContinuousClock.Instant { { self.instant.withLock { $0 } } }

    func advance(by duration: Duration) { instant.withLock { $0 += duration } }
}

/// The suite that passwords are sealed with, against RFC 9180 and against an implementation that is not this one.
@Suite struct HPKETests {
    /// RFC 9180, A.1.1: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM, base mode.
    @Test func opensWhatTheStandardSealed() throws {
        var recipient = try HPKE.Recipient(
            privateKey: Curve25519.KeyAgreement.PrivateKey(
                rawRepresentation: bytes("4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8")),
            ciphersuite: SealedBox.suite, info: bytes("4f6465206f6e2061204772656369616e2055726e"),
            encapsulatedKey: bytes("37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431"))
        for (aad, ciphertext) in [
            (
                "Count-0",
                "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a"
            ),
            (
                "Count-1",
                "af2d7e9ac9ae7e270f46ba1f975be53c09f8d875bdc8535458c2494e8a6eab251c03d0c22a56b8ca42c2063b84"
            ),
        ] {
            let text = try recipient.open(bytes(ciphertext), authenticating: Data(aad.utf8))
            #expect(String(decoding: text, as: UTF8.self) == "Beauty is truth, truth beauty")
        }
    }

    /// The worked example of the document, opened with nothing but its own words.
    @Test func theDocumentsBoxOpens() throws {
        let documentedBox = try documented("box")
        let box = try #require(Data(base64Encoded: documentedBox))
        let privateKey = try bytes(documented("private key"))
        #expect(box.count == SealedPassword.length)
        #expect(
            try Curve25519.KeyAgreement.PrivateKey(rawRepresentation: privateKey).publicKey.rawRepresentation
                .base64EncodedString() == documented("public key"))
        let context = try documentedContext()
        var recipient = try HPKE.Recipient(
            privateKey: Curve25519.KeyAgreement.PrivateKey(rawRepresentation: privateKey),
            ciphersuite: SealedBox.suite, info: Data("altnet/1 seal".utf8), encapsulatedKey: box.prefix(32))
        let text = try recipient.open(box.dropFirst(32), authenticating: Data(context.utf8))
        let message = Data("altnet/1 box".utf8) + SHA256.hash(data: Data(context.utf8)) + box
        let proof = HMAC<SHA256>.authenticationCode(
            for: message, using: SymmetricKey(data: Data(try documented("local key").utf8)))
        #expect(try Data(proof).base64EncodedString() == documented("proof"))
        let password = try Data(documented("password").utf8)
        #expect(text == password + Data(count: 64 - password.count))
    }

    /// The Python script beside the document seals byte for byte what the document says, with the same ephemeral key.
    @Test(.enabled("needs python3 with the package cryptography") { PythonScript.canSeal })
    func theScriptSealsTheDocumentsBox() throws {
        let entry: [String: Any] = [
            "ssid": try documented("SSID"), "password": try documented("password"), "security": "wpa2-wpa3",
            "hidden": true,
        ]
        let sealed = try PythonScript.seal([
            "type": "backups.update", "deviceId": documented("device id"),
            "key": Hex.string(Array(documented("local key").utf8)), "ephemeralKey": documented("ephemeral key"),
            "sealing": ["keyId": "k", "publicKey": documented("public key")],
            "body": ["networks": [entry], "ifRevision": 7],
        ])
        #expect(try sealed.sealed.bytes == Array(#require(Data(base64Encoded: documented("box")))))
        #expect(try Data(sealed.sealed.proof.bytes).base64EncodedString() == documented("proof"))
    }

    /// The device opens a box that the script sealed to the device's own key, with every option that there is.
    @Test(.enabled("needs python3 with the package cryptography") { PythonScript.canSeal })
    func whatTheScriptSealsOpens() throws {
        let device = try DeviceKey(deviceId: "kitchen", localKey: Secret(text: "a local key of thirty-two bytes!"))
        let opener = SealOpener(device)
        let ssid = try SSID(bytes: [0xff, 0x00, 0xfe])
        let address = try StaticAddress(
            "192.168.1.20/24", gateway: IPAddress("192.168.1.1"),
            nameServers: ["192.168.1.1", "9.9.9.9"].compactMap { IPAddress($0) })
        for password in ["12345678", String(repeating: "~", count: 63), "hunter2hunter2"] {
            let network = NewNetwork(ssid: ssid, password: Secret(text: password), security: .wpa2, address: address)
            let request = SwitchRequest(target: .new(network), confirmWithin: 60, joinOnce: true, besideUplink: true)
            let sealed = try PythonScript.seal(.switchNetwork(request), for: device, with: opener.key)
            #expect(try opener.open(sealed, in: SealContext(of: network, in: request)) == Secret(text: password))
        }
    }

    /// A client with the key can seal a text that is no password: it is told so, and the box is used up.
    @Test(.enabled("needs python3 with the package cryptography") { PythonScript.canSeal })
    func whatIsNoPasswordIsSaid() throws {
        let device = try DeviceKey(deviceId: "kitchen", localKey: Secret(text: "0123456789abcdef"))
        let opener = SealOpener(device)
        for password in ["", "hunter2", "hunter2\0hunter2", String(repeating: "G", count: 64)] {
            let network = NewNetwork(ssid: try SSID("Attic"), password: Secret(text: password))
            let update = BackupsUpdate(networks: [.new(network)], ifRevision: 3)
            let sealed = try PythonScript.seal(.updateBackups(update), for: device, with: opener.key)
            let context = SealContext(of: network, in: update)
            #expect(code { try opener.open(sealed, in: context) } == .invalidPassword)
            #expect(code { try opener.open(sealed, in: context) } == .sealUsed)
        }
    }

    /// The text that the document's box is for, in its block.
    private func documentedContext() throws -> String {
        let text = ProtocolDocument.text
        let start = try #require(text.range(of: "```\naltnet/1 backups.update\n"))
        let end = try #require(text.range(of: "\n```", range: start.upperBound..<text.endIndex))
        return String(text[start.lowerBound..<end.lowerBound].dropFirst(4))
    }

    private func bytes(_ hex: String) throws -> Data { Data(try #require(Hex.bytes(hex))) }

    /// A value of the table of the worked example.
    private func documented(_ name: String) throws -> String {
        let row = ProtocolDocument.text.split(separator: "\n").first { $0.hasPrefix("| \(name) | `") }
        return String(try #require(row?.split(separator: "`").dropFirst().first))
    }
}

/// HPKE's key schedule (RFC 9180, clauses 4.1 and 5.1) for what no honest sender does: a shared point of zeros.
enum HPKEByHand {
    private static let kem = Data("KEM".utf8) + [0x00, 0x20]
    private static let suite = Data("HPKE".utf8) + [0x00, 0x20, 0x00, 0x01, 0x00, 0x01]

    /// - Returns: ciphertext and tag.
    static func seal(
        _ password: Secret, _ aad: String, to recipient: SealingKey, as encapsulated: [UInt8]
    ) throws -> [UInt8] {
        let agreed = extract(salt: Data(), kem, "eae_prk", Data(count: 32))
        let shared = expand(agreed, kem, "shared_secret", Data(encapsulated + recipient.publicKey), count: 32)
        let context =
            Data([0x00]) + extract(salt: Data(), suite, "psk_id_hash", Data())
            + extract(salt: Data(), suite, "info_hash", Data("altnet/1 seal".utf8))
        let secret = extract(salt: shared, suite, "secret", Data())
        let padded = password.withBytes { Data($0) } + Data(count: 64 - password.count)
        let box = try AES.GCM.seal(
            padded, using: SymmetricKey(data: expand(secret, suite, "key", context, count: 16)),
            nonce: AES.GCM.Nonce(data: expand(secret, suite, "base_nonce", context, count: 12)),
            authenticating: Data(aad.utf8))
        return Array(box.ciphertext + box.tag)
    }

    private static func extract(salt: Data, _ suite: Data, _ label: String, _ input: Data) -> Data {
        let labelled = Data("HPKE-v1".utf8) + suite + Data(label.utf8) + input
        return Data(HMAC<SHA256>.authenticationCode(for: labelled, using: SymmetricKey(data: salt)))
    }

    private static func expand(_ key: Data, _ suite: Data, _ label: String, _ info: Data, count: UInt8) -> Data {
        let labelled = Data([0, count]) + Data("HPKE-v1".utf8) + suite + Data(label.utf8) + info + [1]
        return Data(HMAC<SHA256>.authenticationCode(for: labelled, using: SymmetricKey(data: key))).prefix(Int(count))
    }
}
