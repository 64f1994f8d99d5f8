import AgentModel
import Testing

@testable import Import

private let certificate = "-----BEGIN CERTIFICATE-----\nMAMCAQA=\n-----END CERTIFICATE-----\n"
private let key = "-----BEGIN PRIVATE KEY-----\nMAMCAQA=\n-----END PRIVATE KEY-----\n"

/// Reads a source, and the files that it names: certificates, and keys where the name says so.
private func resolved(_ text: String, _ read: (UnsafeRawBufferPointer) -> SourceContents) -> SourceContents {
    var contents = Array(text.utf8).withUnsafeBytes { read($0) }
    contents.resolveFiles { path in
        path.contains("none") ? nil : Secret(text: path.hasSuffix(".key") ? key : certificate)
    }
    return contents
}

private func credential(_ contents: SourceContents) -> EnterpriseCredential? {
    guard case .enterprise(let credential) = contents.networks.first?.credential else { return nil }
    return credential
}

@Suite struct EnterpriseImportTests {
    private func networkManager(_ lines: String...) -> SourceContents {
        resolved(
            "[connection]\ntype=wifi\n[wifi]\nssid=Works\n[wifi-security]\nkey-mgmt=wpa-eap\n[802-1x]\n"
                + lines.joined(separator: "\n") + "\n"
        ) { NetworkManagerSource.keyFile($0, from: "/x") }
    }

    private func supplicant(_ lines: String...) -> SourceContents {
        resolved("network={\nssid=\"Works\"\nkey_mgmt=WPA-EAP\n" + lines.joined(separator: "\n") + "\n}\n") {
            WpaSupplicantSource.read($0, from: "/x")
        }
    }

    private func iwd(_ lines: String...) -> SourceContents {
        resolved("[Security]\n" + lines.joined(separator: "\n") + "\n") {
            IwdSource.read($0, named: Array("Works.8021x".utf8), from: "/x", changed: nil)
        }
    }

    private func netplan(_ lines: String...) -> SourceContents {
        resolved(
            "network:\n  wifis:\n    wlan0:\n      access-points:\n        Works:\n          auth:\n"
                + lines.map { "            \($0)\n" }.joined()
        ) { NetplanSource.read($0, from: "/x") }
    }

    private func password(
        _ method: EnterpriseCredential.Method, _ inner: EnterpriseCredential.Inner = .mschapv2,
        anonymous: String? = nil,
        serverName: String? = nil
    ) throws -> EnterpriseCredential {
        try EnterpriseCredential(
            method: method, inner: inner, identity: "kiosk7", anonymousIdentity: anonymous,
            password: Secret(text: "p w"), caCertificate: certificate, serverName: serverName)
    }

    private func pair(serverName: String? = nil) throws -> EnterpriseCredential {
        try EnterpriseCredential(
            method: .tls, identity: "board7", clientCertificate: certificate, privateKey: Secret(text: key),
            caCertificate: certificate, serverName: serverName)
    }

    @Test func ofNetworkManager() throws {
        let contents = networkManager(
            "eap=peap;", "identity=kiosk7", "anonymous-identity=anonymous", "password=p\\sw", "phase2-auth=mschapv2",
            "ca-cert=/etc/ca.pem", "domain-suffix-match=radius.example.com")
        #expect(
            try credential(contents)
                == password(.peap, anonymous: "anonymous", serverName: "radius.example.com"))
        #expect(contents.networks.first?.security == .enterprise)
        let ttls = networkManager(
            "eap=ttls", "identity=kiosk7", "password=p w", "phase2-auth=pap", "ca-cert=file:///etc/ca.pem")
        #expect(try credential(ttls) == password(.ttls, .pap))
        let tls = networkManager(
            "eap=tls", "identity=board7", "ca-cert=/ca.pem", "client-cert=/b.pem", "private-key=/b.key",
            "private-key-password-flags=4")
        #expect(try credential(tls) == pair())
        let answer = resolved(
            "connection.type:802-11-wireless\n802-11-wireless.ssid:Works\n802-11-wireless-security.key-mgmt:wpa-eap\n"
                + "802-1x.eap:peap\n802-1x.identity:kiosk7\n802-1x.password:p w\n802-1x.ca-cert:/etc/ca.pem\n"
        ) { NetworkManagerSource.answer($0, from: "/x") }
        #expect(try credential(answer) == password(.peap))
    }

    @Test func ofWpaSupplicant() throws {
        let contents = supplicant(
            "eap=PEAP TTLS", "identity=\"kiosk7\"", "password=\"p w\"", "phase2=\"auth=MSCHAPV2\"",
            "ca_cert=\"/etc/ca.pem\"", "domain_suffix_match=\"radius.example.com\"")
        #expect(try credential(contents) == password(.peap, serverName: "radius.example.com"))
        let hexadecimal = supplicant(
            "eap=TTLS", "identity=\"kiosk7\"", "password=702077", "phase2=\"auth=PAP\"", "ca_cert=\"/etc/ca.pem\"")
        #expect(try credential(hexadecimal) == password(.ttls, .pap))
        let tls = supplicant(
            "eap=TLS", "identity=\"board7\"", "ca_cert=\"/ca.pem\"", "client_cert=\"/b.pem\"", "private_key=\"/b.key\"")
        #expect(try credential(tls) == pair())
    }

    @Test func ofIwd() throws {
        let contents = iwd(
            "EAP-Method=PEAP", "EAP-Identity=anonymous", "EAP-PEAP-CACert=/etc/ca.pem",
            "EAP-PEAP-ServerDomainMask=*.example.com", "EAP-PEAP-Phase2-Method=MSCHAPV2",
            "EAP-PEAP-Phase2-Identity=kiosk7", "EAP-PEAP-Phase2-Password=p w")
        #expect(try credential(contents) == password(.peap, anonymous: "anonymous", serverName: "example.com"))
        let pap = iwd(
            "EAP-Method=TTLS", "EAP-Identity=kiosk7", "EAP-TTLS-CACert=/etc/ca.pem",
            "EAP-TTLS-Phase2-Method=Tunneled-PAP",
            "EAP-TTLS-Phase2-Identity=kiosk7", "EAP-TTLS-Phase2-Password=p w")
        #expect(try credential(pap) == password(.ttls, .pap))
        let tls = iwd(
            "EAP-Method=TLS", "EAP-Identity=board7", "EAP-TLS-CACert=/ca.pem", "EAP-TLS-ClientCert=/b.pem",
            "EAP-TLS-ClientKey=/b.key")
        #expect(try credential(tls) == pair())
    }

    @Test func ofNetplan() throws {
        let contents = netplan(
            "key-management: eap", "method: peap", "identity: kiosk7", "anonymous-identity: anonymous",
            "password: \"p w\"", "phase2-auth: MSCHAPV2", "ca-certificate: /etc/ca.pem")
        #expect(try credential(contents) == password(.peap, anonymous: "anonymous"))
        let tls = netplan(
            "key-management: eap", "method: tls", "identity: board7", "ca-certificate: /ca.pem",
            "client-certificate: /b.pem", "client-key: /b.key")
        #expect(try credential(tls) == pair())
    }

    /// No network comes over in which any server would be the right one.
    @Test(arguments: [
        (["eap=PEAP", "identity=\"u\"", "password=\"p\""], ImportFinding.Reason.serverUnchecked),
        (["eap=PEAP", "identity=\"u\"", "password=\"p\"", "ca_cert=\"\""], .serverUnchecked),
        (
            ["eap=PEAP", "identity=\"u\"", "password=\"p\"", "ca_cert=\"/etc/ssl/certs/ca-certificates.crt\""],
            .impossibleEnterprise(.missing(.serverName))
        ),
        (
            ["eap=PEAP", "identity=\"u\"", "password=\"p\"", "ca_cert=\"/none.pem\""],
            .certificateUnreadable("/none.pem")
        ),
        (
            ["eap=PEAP", "identity=\"u\"", "password=\"p\"", "ca_cert=\"blob://ca\""],
            .certificateUnreadable("blob://ca")
        ),
        (
            ["eap=PEAP", "identity=\"u\"", "password=\"p\"", "ca_cert=\"hash://server/sha256/00\""],
            .certificateUnreadable("hash://server/sha256/00")
        ),
        (["eap=PEAP", "identity=\"u\"", "password=hash:00", "ca_cert=\"/ca.pem\""], .passwordHashed),
        (["eap=PEAP", "password=\"p\"", "ca_cert=\"/ca.pem\""], .impossibleEnterprise(.missing(.identity))),
        (["eap=PEAP", "identity=\"u\"", "ca_cert=\"/ca.pem\""], .impossibleEnterprise(.missing(.password))),
        (["eap=FAST", "identity=\"u\"", "password=\"p\""], .enterpriseMethod("fast")),
        (
            ["eap=PEAP", "identity=\"u\"", "password=\"p\"", "phase2=\"auth=GTC\"", "ca_cert=\"/ca.pem\""],
            .enterpriseMethod("peap with auth=GTC")
        ),
        (
            ["eap=TLS", "identity=\"u\"", "ca_cert=\"/ca.pem\"", "client_cert=\"/b.pem\"", "private_key=\"/b.p12\""],
            .impossibleEnterprise(.notPEM(.privateKey))
        ),
    ])
    func whatCannotBeVerifiedIsLeftOut(fields: [String], reason: ImportFinding.Reason) {
        let contents = supplicant(fields.joined(separator: "\n"))
        #expect(contents.networks.isEmpty)
        #expect(contents.findings.map(\.reason) == [reason])
        #expect(contents.findings.allSatisfy { !"\($0)".contains("\n") })
    }

    @Test func theSystemsAuthoritiesCountForAName() throws {
        let contents = networkManager(
            "eap=peap", "identity=u", "password=p", "system-ca-certs=true", "domain-suffix-match=example.com")
        #expect(credential(contents)?.usesSystemAuthorities == true)
        #expect(credential(contents)?.serverName == "example.com")
    }

    @Test func aPasswordInAKeyringStaysThere() {
        let contents = networkManager("eap=peap", "identity=u", "password-flags=1", "ca-cert=/ca.pem")
        #expect(contents.findings.map(\.reason) == [.passwordElsewhere])
    }

    /// It becomes home as any other.
    @Test func isPlannedAsOthersAre() throws {
        let contents = supplicant("eap=PEAP", "identity=\"kiosk7\"", "password=\"p w\"", "ca_cert=\"/ca.pem\"")
        let plan = ImportPlan([contents], device: ImportPlan.Device(home: nil, maximum: 3))
        #expect(plan.home?.credential == .enterprise(try password(.peap)))
        #expect(plan.home?.security == .enterprise)
    }
}
