import Randomness
import Testing

@testable import AgentModel

/// PEM that is no certificate of anything: one sequence of DER.
private let certificate = "-----BEGIN CERTIFICATE-----\nMAMCAQA=\n-----END CERTIFICATE-----\n"
private let key = "-----BEGIN PRIVATE KEY-----\nMAMCAQA=\n-----END PRIVATE KEY-----\n"

private func peap(
    identity: String? = "kiosk7", password: Secret? = Secret(text: "p"), ca: String? = certificate,
    system: Bool = false, serverName: String? = nil
) throws(InvalidEnterprise) -> EnterpriseCredential {
    try EnterpriseCredential(
        method: .peap, identity: identity, password: password, caCertificate: ca, usesSystemAuthorities: system,
        serverName: serverName)
}

private func tls(
    certificates: String? = certificate, privateKey: String? = key, ca: String? = certificate
) throws(InvalidEnterprise) -> EnterpriseCredential {
    try EnterpriseCredential(
        method: .tls, identity: "board", clientCertificate: certificates,
        privateKey: privateKey.map(Secret.init(text:)),
        caCertificate: ca)
}

@Suite struct EnterpriseTests {
    @Test func aPasswordOrACertificateMakesACredential() throws {
        let password = try peap()
        #expect(password.inner == .mschapv2 && password.privateKey == nil && !password.usesSystemAuthorities)
        let pair = try tls()
        #expect(pair.inner == nil && pair.password == nil)
        #expect(pair.privateKey == Secret(text: key))
    }

    /// No server is joined unchecked.
    @Test func thereIsNoCredentialThatChecksNothing() throws {
        #expect(throws: InvalidEnterprise.missing(.caCertificate)) { try peap(ca: nil) }
        #expect(throws: InvalidEnterprise.missing(.serverName)) { try peap(ca: nil, system: true) }
        #expect(throws: InvalidEnterprise.notPEM(.caCertificate)) { try peap(ca: "") }
        #expect(throws: InvalidEnterprise.twoAuthorities) { try peap(system: true, serverName: "a.example") }
        #expect(try peap(ca: nil, system: true, serverName: "a.example").usesSystemAuthorities)
    }

    @Test(arguments: EnterpriseCredential.Method.allCases)
    func partsOfAnotherMethodAreRefused(method: EnterpriseCredential.Method) {
        func credential(
            inner: EnterpriseCredential.Inner? = nil, password: String? = nil, certificates: String? = nil,
            privateKey: String? = nil
        ) throws(InvalidEnterprise) -> EnterpriseCredential {
            try EnterpriseCredential(
                method: method, inner: inner, identity: "u", password: password.map(Secret.init(text:)),
                clientCertificate: certificates, privateKey: privateKey.map(Secret.init(text:)),
                caCertificate: certificate)
        }
        if method == .tls {
            #expect(throws: InvalidEnterprise.missing(.clientCertificate)) { try credential(privateKey: key) }
            #expect(throws: InvalidEnterprise.missing(.privateKey)) { try credential(certificates: certificate) }
            #expect(throws: InvalidEnterprise.notOfMethod(.password)) {
                try credential(password: "p", certificates: certificate, privateKey: key)
            }
            #expect(throws: InvalidEnterprise.notOfMethod(.inner)) {
                try credential(inner: .mschapv2, certificates: certificate, privateKey: key)
            }
        } else {
            #expect(throws: InvalidEnterprise.missing(.password)) { try credential() }
            #expect(throws: InvalidEnterprise.missing(.password)) { try credential(password: "") }
            #expect(throws: InvalidEnterprise.notOfMethod(.clientCertificate)) {
                try credential(password: "p", certificates: certificate)
            }
            #expect(throws: InvalidEnterprise.notOfMethod(.privateKey)) {
                try credential(password: "p", privateKey: key)
            }
            let pap = Result { () throws(InvalidEnterprise) in try credential(inner: .pap, password: "p") }
            #expect((try? pap.get()) == nil ? method == .peap : method == .ttls)
        }
    }

    @Test func textsHaveBounds() {
        let (fits, long) = (String(repeating: "i", count: 253), String(repeating: "i", count: 254))
        #expect(throws: Never.self) { try peap(identity: fits) }
        #expect(throws: InvalidEnterprise.tooLong(.identity, bytes: 254, maximum: 253)) { try peap(identity: long) }
        #expect(throws: InvalidEnterprise.missing(.identity)) { try peap(identity: "") }
        #expect(throws: InvalidEnterprise.missing(.identity)) { try peap(identity: nil) }
        #expect(throws: InvalidEnterprise.notText(.identity)) { try peap(identity: "a\nb") }
        #expect(throws: Never.self) { try peap(password: Secret(repeatElement(0x61, count: 128))) }
        #expect(throws: InvalidEnterprise.tooLong(.password, bytes: 129, maximum: 128)) {
            try peap(password: Secret(repeatElement(0x61, count: 129)))
        }
        #expect(throws: InvalidEnterprise.notText(.password)) { try peap(password: Secret([0x61, 0])) }
        #expect(throws: InvalidEnterprise.notText(.password)) { try peap(password: Secret([0xff])) }
    }

    @Test(arguments: ["", ".", "a.", ".a", "a..b", "a;b", "a b", "*.a", "ä.example", "a_b", "a/b", "a\"b"])
    func whatIsNoHostNameIsRefused(name: String) {
        #expect(throws: InvalidEnterprise.noHostName) { try peap(serverName: name) }
    }

    /// As `openssl x509 -text` writes it, with a key in the same file, with the line ends of other systems.
    @Test(arguments: [
        "Certificate:\n    Data: 1\n\(certificate)", "\(key)\(certificate)", certificate.replacing("\n", with: "\r\n"),
        "-----BEGIN CERTIFICATE-----\nMAMC\nAQA=\n-----END CERTIFICATE-----", "\n\n\(certificate)\nthe end",
    ])
    func blocksAreTakenOutOfOtherText(text: String) throws {
        #expect(try peap(ca: text).caCertificate == certificate)
    }

    @Test(arguments: [
        "MAMCAQA=", "-----BEGIN CERTIFICATE-----\nMAMCAQA=\n",
        "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\nMAMCAQA=\n-----END PRIVATE KEY-----\n",
        "-----BEGIN CERTIFICATE-----\nMAMCAQ*=\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\n-----BEGIN CERTIFICATE-----\nMAMCAQA=\n-----END CERTIFICATE-----\n",
        // DER that is too short, too long, and no sequence.
        "-----BEGIN CERTIFICATE-----\nMAQCAQA=\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\nMAICAQA=\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\nAgMCAQA=\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\nMIACAQAAAA==\n-----END CERTIFICATE-----\n", key,
    ])
    func brokenPEMIsRefused(text: String) {
        #expect(throws: InvalidEnterprise.notPEM(.caCertificate)) { try peap(ca: text) }
        #expect(throws: InvalidEnterprise.notPEM(.clientCertificate)) { try tls(certificates: text) }
    }

    @Test func certificatesAreCounted() throws {
        #expect(throws: InvalidEnterprise.severalAuthorities(2)) { try peap(ca: certificate + certificate) }
        #expect(try tls(certificates: certificate + certificate).clientCertificate == certificate + certificate)
        let many = String(repeating: certificate, count: 70)
        #expect(throws: InvalidEnterprise.tooLong(.clientCertificate, bytes: many.utf8.count, maximum: 4000)) {
            try tls(certificates: many)
        }
    }

    @Test(arguments: [
        (key.replacing("PRIVATE", with: "ENCRYPTED PRIVATE"), InvalidEnterprise.encryptedKey),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES\n\nMAMCAQA=\n-----END RSA PRIVATE KEY-----\n",
            .encryptedKey
        ),
        (key + key, .severalKeys(2)), (certificate, .notPEM(.privateKey)), ("", .notPEM(.privateKey)),
        ("-----BEGIN PRIVATE KEY-----\nMA\n-----END PRIVATE KEY-----\n", .notPEM(.privateKey)),
        ("-----BEGIN PRIVATE KEY-----\nM===\n-----END PRIVATE KEY-----\n", .notPEM(.privateKey)),
        (key.replacing("PRIVATE", with: "DSA PRIVATE"), .notPEM(.privateKey)),
    ])
    func keysThatCannotBeUsedAreRefused(text: String, error: InvalidEnterprise) {
        #expect(throws: error) { try tls(privateKey: text) }
        #expect(!"\(error)".contains("MAMC"))
    }

    @Test(arguments: ["RSA", "EC"]) func keysOfBothFormsAreTaken(kind: String) throws {
        let text = key.replacing("PRIVATE", with: "\(kind) PRIVATE")
        let parameters = "-----BEGIN EC PARAMETERS-----\nBggq\n-----END EC PARAMETERS-----\n"
        #expect(try tls(privateKey: parameters + text).privateKey == Secret(text: text))
    }

    @Test func itsBytesAreOneForm() throws {
        let samples = [
            try peap(), try tls(), try peap(ca: nil, system: true, serverName: "radius.example.com"),
            try EnterpriseCredential(
                method: .ttls, inner: .pap, identity: "é", anonymousIdentity: "anonymous", password: Secret(text: "ü"),
                caCertificate: certificate, serverName: "a"),
        ]
        for sample in samples {
            let bytes = sample.encoded.withBytes { Array($0) }
            #expect(bytes.count <= EnterpriseCredential.encodedLength)
            #expect(bytes.withUnsafeBytes { EnterpriseCredential(encoded: $0) } == sample)
            for length in 0..<bytes.count {
                #expect(bytes.prefix(length).withUnsafeBytes { EnterpriseCredential(encoded: $0) } == nil)
            }
            #expect((bytes + [0]).withUnsafeBytes { EnterpriseCredential(encoded: $0) } == nil)
        }
        let first = try peap().encoded.withBytes { Array($0.prefix(6)) }
        #expect(first == [0, 4] + Array("peap".utf8))
    }

    @Test func anyBytesAreRead() {
        var random = SeededRandom(seed: 31)
        for _ in 0..<2000 {
            let bytes = (0..<Int.random(in: 0...64, using: &random)).map { _ in UInt8.random(in: 0...8, using: &random)
            }
            guard let read = bytes.withUnsafeBytes({ EnterpriseCredential(encoded: $0) }) else { continue }
            #expect(read.encoded == Secret(bytes))
        }
    }

    @Test func nothingSecretIsShown() throws {
        let credential = try EnterpriseCredential(
            method: .peap, identity: "kiosk7", password: Secret(text: "hunter22"), caCertificate: certificate)
        var dumped = ""
        dump(credential, to: &dumped)
        #expect(!dumped.contains("hunter22") && !"\(credential)".contains("hunter22"))
        var key = ""
        dump(try tls(), to: &key)
        #expect(!key.contains("BEGIN PRIVATE"))
    }
}
