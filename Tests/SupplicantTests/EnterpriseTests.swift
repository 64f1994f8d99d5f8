import AgentModel
import Linux
import Testing

@testable import Supplicant

private let certificate = "-----BEGIN CERTIFICATE-----\nMAMCAQA=\n-----END CERTIFICATE-----\n"
private let key = "-----BEGIN PRIVATE KEY-----\nMAMCAQA=\n-----END PRIVATE KEY-----\n"

private func credential(
    _ method: EnterpriseCredential.Method, inner: EnterpriseCredential.Inner? = nil, anonymous: String? = nil,
    ca: String? = certificate, serverName: String? = "radius.example.com"
) throws -> JoinRequest.Credential {
    let isTLS = method == .tls
    return .enterprise(
        try EnterpriseCredential(
            method: method, inner: inner, identity: "kiosk7", anonymousIdentity: anonymous,
            password: isTLS ? nil : Secret(text: "hunter22"), clientCertificate: isTLS ? certificate : nil,
            privateKey: isTLS ? Secret(text: key) : nil, caCertificate: ca, usesSystemAuthorities: ca == nil,
            serverName: serverName))
}

/// The settings of a block by their names, a secret as its text, a blob as its text behind `blob:`.
private func block(
    _ request: JoinRequest, _ available: Set<String> = ["NONE", "WPA-PSK", "WPA-EAP", "WPA-EAP-SHA256"]
) throws -> [String: String] {
    func text(_ secret: Secret) -> String { secret.withBytes { String(decoding: $0, as: UTF8.self) } }
    return Dictionary(
        uniqueKeysWithValues: try NetworkBlock(request, keyManagement: available).settings.map { setting in
            switch setting.value {
            case .plain(let value): (setting.name, value)
            case .secret(let value): (setting.name, text(value))
            case .blob(let value): (setting.name, "blob:" + text(value))
            }
        })
}

@Suite struct EnterpriseBlockTests {
    @Test func peapHasAPasswordAndAnAuthority() throws {
        let settings = try block(Example.request([1], credential(.peap, anonymous: "anonymous")))
        #expect(settings["key_mgmt"] == "WPA-EAP WPA-EAP-SHA256")
        #expect(settings["proto"] == "RSN" && settings["pairwise"] == "CCMP" && settings["ieee80211w"] == "1")
        #expect(settings["eap"] == "PEAP")
        #expect(settings["identity"] == "kiosk7" && settings["anonymous_identity"] == "anonymous")
        #expect(settings["password"] == "hunter22")
        #expect(settings["phase2"] == "\"auth=MSCHAPV2 mschapv2_retry=0\"")
        #expect(settings["ca_cert"] == "blob:" + certificate)
        #expect(settings["domain_suffix_match"] == "radius.example.com")
        #expect(settings["phase1"] == "\"tls_disable_time_checks=0\"")
        #expect(settings["psk"] == nil && settings["private_key"] == nil)
    }

    @Test func ttlsHasItsInnerMethod() throws {
        #expect(
            try block(Example.request([1], credential(.ttls)))["phase2"] == "\"auth=MSCHAPV2 mschapv2_retry=0\"")
        let pap = try block(Example.request([1], credential(.ttls, inner: .pap)))
        #expect(pap["phase2"] == "\"auth=PAP\"" && pap["eap"] == "TTLS" && pap["anonymous_identity"] == nil)
    }

    @Test func tlsHasACertificateAndAKey() throws {
        let request = try Example.request([1], credential(.tls, serverName: nil))
        let settings = try block(request)
        #expect(settings["eap"] == "TLS")
        #expect(settings["client_cert"] == "blob:" + certificate)
        #expect(settings["private_key"] == "blob:" + key)
        #expect(settings["password"] == nil && settings["phase2"] == nil && settings["domain_suffix_match"] == nil)
        #expect(try NetworkBlock(request, keyManagement: ["WPA-EAP"]).hasPrivateKey)
    }

    /// wpa_supplicant takes any server where `ca_cert` is missing.
    // covers: seed/enterprise
    @Test(arguments: EnterpriseCredential.Method.allCases)
    func anAuthorityIsThereInEveryCase(method: EnterpriseCredential.Method) throws {
        #expect(try block(Example.request([1], credential(method)))["ca_cert"]?.isEmpty == false)
        let system = try block(Example.request([1], credential(method, ca: nil)))
        #expect(system["ca_cert"] == "\"/etc/ssl/certs/ca-certificates.crt\"")
        #expect(system["domain_suffix_match"] == "radius.example.com")
    }

    // covers: seed/no-clock
    @Test func withoutATimeTheTimesDoNotCount() throws {
        var request = try Example.request([1], credential(.peap))
        request.checksCertificateTimes = false
        let settings = try block(request)
        #expect(settings["phase1"] == "\"tls_disable_time_checks=1\"")
        #expect(settings["ca_cert"] == "blob:" + certificate && settings["domain_suffix_match"] != nil)
    }

    @Test func theFloorIsKept() throws {
        #expect(try block(Example.request([1], credential(.peap), minimumSecurity: .pmf))["ieee80211w"] == "2")
        #expect(throws: SupplicantError.unsupported("enterprise networks")) {
            try block(Example.request([1], credential(.peap)), ["WPA-PSK", "SAE", "NONE"])
        }
    }

    @Test func commandsNameNoSecret() throws {
        for setting in try NetworkBlock(Example.request([1], credential(.tls)), keyManagement: ["WPA-EAP"]).settings {
            let command = ControlCommand(network: 3, setting)
            #expect(!command.name.contains("BEGIN") && !"\(command)".contains("MAMC"))
            guard case .blob(let content) = setting.value, let name = setting.blobName(ofNetwork: 3) else { continue }
            let blob = ControlCommand(blob: name, content)
            #expect(blob.name == "SET blob altnet-\(setting.name)-3" && !"\(blob)".contains("2d2d"))
            let sent = try blob.withBytes { String(decoding: $0, as: UTF8.self) }
            #expect(sent.hasPrefix("SET blob altnet-\(setting.name)-3 2d2d2d2d2d424547494e"))
            #expect(
                try command.withBytes { String(decoding: $0, as: UTF8.self) }
                    == "SET_NETWORK 3 \(setting.name) \"blob://altnet-\(setting.name)-3\"")
        }
    }
}

@Suite struct EnterpriseEventTests {
    // covers: seed/enterprise
    @Test(arguments: [
        (
            "reason=1 depth=1 subject='/CN=a' err='self-signed certificate'",
            ControlEvent.CertificateFault.unknownAuthority
        ),
        ("reason=4 depth=0 subject='/CN=reason=1 b' err='certificate has expired'", .expired),
        ("reason=3 depth=0 subject='' err=''", .notYetValid), ("reason=2 depth=0", .revoked),
        ("reason=9 depth=0 subject='/CN=x' err='Domain suffix mismatch'", .otherName), ("reason=10", .otherName),
        ("reason=0 depth=0", .other), ("reason=99999999999999999999", .other), ("", .other),
        ("subject='reason=4'", .other),
    ])
    func certificatesAreRefusedForAReason(fields: String, fault: ControlEvent.CertificateFault) {
        let event = ControlEvent("CTRL-EVENT-EAP-TLS-CERT-ERROR \(fields)"[...])
        #expect(event == .certificateRefused(fault))
        #expect((event.explanation == nil) == (fault == .other))
    }

    @Test func theServerRefusesTheUser() {
        #expect(ControlEvent("CTRL-EVENT-EAP-FAILURE EAP authentication failed") == .userRefused)
        var progress = JoinProgress(network: 0)
        _ = progress.handle(.associated)
        #expect(progress.handle(.userRefused) == .failed(.wrongKey))
        #expect(progress.handle(.certificateRefused(.expired)) == .failed(.certificateRefused))
        #expect(progress.handle(.disconnected(reason: 23, locallyGenerated: false)) == .failed(.wrongKey))
    }

    /// The end of the conversation comes behind its cause.
    @Test func aRefusedCertificateStaysTheCause() {
        #expect(JoinProgress.refined(.certificateRefused, by: .userRefused, network: 0) == .certificateRefused)
        #expect(JoinProgress.refined(.linkLost, by: .userRefused, network: 0) == .wrongKey)
        #expect(
            JoinProgress.refined(.wrongKey, by: .certificateRefused(.otherName), network: 0) == .certificateRefused)
    }

    @Test(arguments: [
        ("WPA2/IEEE 802.1X/EAP", Security.enterprise), ("WPA2-EAP-SHA256", .enterprise),
        ("WPA/IEEE 802.1X/EAP", .legacy),
    ])
    func theStatusSaysHow(name: String, security: Security) {
        #expect(SupplicantStatus("wpa_state=COMPLETED\nkey_mgmt=\(name)\n").security == security)
    }
}

@Suite(.timeLimit(.minutes(10))) struct EnterpriseJoinTests {
    @Test @AgentLoop func blobsComeBeforeTheirNamesAndKeysGoWithTheNetwork() async throws {
        let bench = Bench()
        await bench.start()
        try await bench.supplicant.join(Example.request([1], credential(.tls)), attempt: 1)
        let asked = bench.fake.asked
        for name in ["ca_cert", "client_cert", "private_key"] {
            let blob = try #require(asked.firstIndex { $0.hasPrefix("SET blob altnet-\(name)-0 ") })
            #expect(asked[blob + 1] == "SET_NETWORK 0 \(name) \"blob://altnet-\(name)-0\"")
        }
        #expect(bench.fake.blob("altnet-private_key-0") == Hex.string(Array(key.utf8)))
        try await bench.supplicant.leave()
        #expect(bench.fake.blob("altnet-private_key-0") == "00")
    }

    @Test @AgentLoop func theCauseIsToldInWords() async throws {
        let bench = Bench()
        await bench.start()
        try await bench.supplicant.join(Example.request([1], credential(.peap)), attempt: 4)
        bench.fake.send(
            "Associated with 02:00:00:00:01:00",
            "CTRL-EVENT-EAP-TLS-CERT-ERROR reason=1 depth=1 subject='/CN=x' err='self-signed certificate'",
            "CTRL-EVENT-EAP-FAILURE EAP authentication failed")
        let event = await bench.log.next()
        guard case .joinFailed(attempt: 4, .certificateRefused, let detail)? = event else {
            Issue.record("\(String(describing: event))")
            return
        }
        #expect(detail.contains("authority"))
    }

    // covers: seed/no-clock
    @Test @AgentLoop func theTimesOfACertificateCountLater() async throws {
        let bench = Bench()
        await bench.start()
        var request = try Example.request([1], credential(.peap))
        request.checksCertificateTimes = false
        bench.fake.send(
            ["CTRL-EVENT-CONNECTED - Connection to 02:00:00:00:01:00 completed [id=0 id_str=]"],
            after: "SELECT_NETWORK")
        try await bench.supplicant.join(request, attempt: 1)
        #expect(await bench.log.next() == .connected(attempt: 1, bssid: Example.bssid))
        bench.fake.setStatus("bssid=02:00:00:00:01:00\nid=0\nkey_mgmt=WPA2/IEEE 802.1X/EAP\nwpa_state=COMPLETED\n")
        #expect(try await bench.supplicant.checkCertificateTimes())
        #expect(bench.fake.network(0)?["phase1"] == "\"tls_disable_time_checks=0\"")
        #expect(
            bench.fake.asked.suffix(2) == [
                "SET_NETWORK 0 phase1 \"tls_disable_time_checks=0\"", "REAUTHENTICATE",
            ])
        // Once is enough.
        #expect(try await !bench.supplicant.checkCertificateTimes())
        #expect(bench.fake.asked.count { $0 == "REAUTHENTICATE" } == 1)
        bench.fake.send("CTRL-EVENT-EAP-TLS-CERT-ERROR reason=4 depth=0 subject='/CN=x' err='certificate has expired'")
        let event = await bench.log.next()
        guard case .certificateRefused(let reason)? = event else {
            Issue.record("\(String(describing: event))")
            return
        }
        #expect(reason.contains("expired"))
    }

    @Test @AgentLoop func otherNetworksHaveNoTimesToCheck() async throws {
        let bench = Bench()
        await bench.start()
        #expect(try await !bench.supplicant.checkCertificateTimes(), "no link")
        bench.fake.addNetwork(4)
        bench.fake.setStatus("bssid=02:00:00:00:01:00\nid=4\nkey_mgmt=WPA2-PSK\nwpa_state=COMPLETED\n")
        #expect(try await !bench.supplicant.checkCertificateTimes(), "no such variable")
        #expect(!bench.fake.asked.contains("REAUTHENTICATE"))
    }
}
