import AgentModel
import AppProtocol
import Crypto
import Foundation
import Testing

/// The suite that passwords are sealed with, against RFC 9180 and against an implementation that is not this one.
@Suite struct HPKETests {
    /// RFC 9180, A.2.2: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, ChaCha20-Poly1305, PSK mode.
    @Test func opensWhatTheStandardSealed() throws {
        var recipient = try recipient(
            privateKey: bytes("77d114e0212be51cb1d76fa99dd41cfd4d0166b08caa09074430a6c59ef17879"),
            info: bytes("4f6465206f6e2061204772656369616e2055726e"),
            encapsulated: bytes("2261299c3f40a9afc133b969a97f05e95be2c514e54f3de26cbe5644ac735b04"),
            psk: bytes("0247fd33b913760fa1fa51e1892d9f307fbe65eb171e8132c2af18555a738b82"),
            pskId: bytes("456e6e796e20447572696e206172616e204d6f726961"))
        for (aad, ciphertext) in [
            (
                "Count-0",
                "4a177f9c0d6f15cfdf533fb65bf84aecdc6ab16b8b85b4cf65a370e07fc1d78d28fb073214525276f4a89608ff"
            ),
            (
                "Count-1",
                "5c3cabae2f0b3e124d8d864c116fd8f20f3f56fda988c3573b40b09997fd6c769e77c8eda6cda4f947f5b704a8"
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
        var recipient = try recipient(
            privateKey: privateKey, info: Data("altnet/1".utf8), encapsulated: box.prefix(32),
            psk: Data(documented("local key").utf8), pskId: Data(documented("device id").utf8))
        let text = try recipient.open(box.dropFirst(32), authenticating: Data(documented("SSID").utf8))
        let password = try Data(documented("password").utf8)
        #expect(text == password + Data(count: 64 - password.count))
    }

    /// The Python script beside the document seals byte for byte what the document says, with the same ephemeral key.
    @Test(.enabled("needs python3 with the package cryptography") { PythonScript.canSeal })
    func theScriptSealsTheDocumentsBox() throws {
        let publicKey = try documented("public key")
        let box = try PythonScript.seal(
            publicKey: try #require(Data(base64Encoded: publicKey)),
            localKey: Data(documented("local key").utf8), deviceId: documented("device id"),
            ssid: Data(documented("SSID").utf8), password: Data(documented("password").utf8),
            ephemeralKey: bytes(documented("ephemeral key")))
        #expect(try box == documented("box"))
    }

    /// What the script seals to a device's own key, the device opens.
    @Test(.enabled("needs python3 with the package cryptography") { PythonScript.canSeal })
    func whatTheScriptSealsOpens() throws {
        let device = try DeviceKey(deviceId: "kitchen", localKey: Secret(text: "a local key of thirty-two bytes!"))
        let opener = SealOpener(device)
        let ssid = try SSID(bytes: [0xff, 0x00, 0xfe])
        for password in ["12345678", String(repeating: "~", count: 63), "hunter2hunter2"] {
            let sealed = try scriptSeals(password, for: device, ssid: ssid, key: opener.key)
            #expect(try opener.open(sealed, ssid: ssid) == Secret(text: password))
        }
    }

    /// Who has the key can seal what is no password: it is told so, and the box is used up.
    @Test(.enabled("needs python3 with the package cryptography") { PythonScript.canSeal })
    func whatIsNoPasswordIsSaid() throws {
        let device = try DeviceKey(deviceId: "kitchen", localKey: Secret(text: "0123456789abcdef"))
        let opener = SealOpener(device)
        let ssid = try SSID("Attic")
        for password in ["", "hunter2", "hunter2\0hunter2", String(repeating: "A", count: 64)] {
            let sealed = try scriptSeals(password, for: device, ssid: ssid, key: opener.key)
            #expect(code { try opener.open(sealed, ssid: ssid) } == .invalidPassword)
            #expect(code { try opener.open(sealed, ssid: ssid) } == .sealUsed)
        }
    }

    private func scriptSeals(
        _ password: String, for device: DeviceKey, ssid: SSID, key: SealingKey
    ) throws -> SealedPassword {
        let box = try PythonScript.seal(
            publicKey: Data(key.publicKey), localKey: device.localKey.withBytes { Data($0) }, deviceId: device.deviceId,
            ssid: Data(ssid.bytes), password: Data(password.utf8))
        let bytes = try #require(Data(base64Encoded: box))
        return try #require(SealedPassword(keyId: key.keyId, box: Array(bytes)))
    }

    private func recipient(
        privateKey: Data, info: Data, encapsulated: Data, psk: Data, pskId: Data
    ) throws -> HPKE.Recipient {
        try HPKE.Recipient(
            privateKey: Curve25519.KeyAgreement.PrivateKey(rawRepresentation: privateKey),
            ciphersuite: .Curve25519_SHA256_ChachaPoly, info: info, encapsulatedKey: encapsulated,
            presharedKey: SymmetricKey(data: psk), presharedKeyIdentifier: pskId)
    }

    private func bytes(_ hex: String) throws -> Data { Data(try #require(Hex.bytes(hex))) }

    /// A value of the table of the worked example.
    private func documented(_ name: String) throws -> String {
        let row = ProtocolDocument.text.split(separator: "\n").first { $0.hasPrefix("| \(name) | `") }
        return String(try #require(row?.split(separator: "`").dropFirst().first))
    }
}
