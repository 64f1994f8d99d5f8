import AgentModel
import Randomness
import Testing

@testable import Import

/// A network whose credential is not understood is left out: it never comes over as an open one, and its server never has
/// less to show than before.
@Suite struct CredentialTests {
    private enum Format: CaseIterable {
        case networkManager, answer, netplan, wpaSupplicant, iwd, customTOML, firstRun

        func read(_ text: String) -> SourceContents {
            ImportTests.read(text) { bytes in
                switch self {
                case .networkManager: NetworkManagerSource.keyFile(bytes, from: "/x")
                case .answer: NetworkManagerSource.answer(bytes, from: "/x")
                case .netplan: NetplanSource.read(bytes, from: "/x")
                case .wpaSupplicant: WpaSupplicantSource.read(bytes, from: "/x")
                case .iwd: IwdSource.read(bytes, named: Array("Home.open".utf8), from: "/x", changed: nil)
                case .customTOML: ImagerSource.customTOML(bytes, from: "/x")
                case .firstRun: ImagerSource.firstRun(bytes, from: "/x")
                }
            }
        }

        /// A network with a credential in the line that has `correct horse`.
        var sample: String {
            switch self {
            case .networkManager:
                "[connection]\nid=Home\ntype=wifi\n[wifi]\nmode=infrastructure\nssid=Home\n[wifi-security]\n"
                    + "key-mgmt=wpa-psk\npsk=correct horse\n[ipv4]\nmethod=auto\n"
            case .answer:
                "connection.type:802-11-wireless\n802-11-wireless.ssid:Home\n"
                    + "802-11-wireless-security.key-mgmt:wpa-psk\n802-11-wireless-security.psk:correct horse\n"
            case .netplan:
                "network:\n  version: 2\n  wifis:\n    wlan0:\n      dhcp4: true\n      access-points:\n"
                    + "        Home:\n          hidden: true\n          auth:\n            key-management: psk\n"
                    + "            password: correct horse\n"
            case .wpaSupplicant:
                "country=DE\nnetwork={\n\tssid=\"Home\"\n\tkey_mgmt=WPA-PSK\n\tpsk=\"correct horse\"\n}\n"
            case .iwd: "[Settings]\nHidden=true\n[Security]\nPassphrase=correct horse\n"
            case .customTOML: "[wlan]\nssid = \"Home\"\npassword = \"correct horse\"\ncountry = \"GB\"\n"
            case .firstRun:
                "imager_custom set_wlan 'Home' 'correct horse' 'DE'\n"
            }
        }
    }

    /// The same network in lines that an author has got wrong.
    @Test(arguments: [
        (Format.networkManager, "[wifi-security]\npsk=correct horse\n", true),
        (.networkManager, "[wifi-security]\nkey-mgmt=\npsk=correct horse\n", true),
        (.networkManager, "[wifi-security]\npsk=\n", false),
        (.networkManager, "[wifi-security]\npsks=correct horse\n", false),
        (.networkManager, "[wifi-security]\npsk-flags=1\n", false),
        (.networkManager, "[wifi_security]\nkey-mgmt=wpa-psk\npsk=correct horse\n", false),
        (.networkManager, "[wifi-security]\nwep-key0=abcde\n", false),
        (.networkManager, "[wifi-security]\nkey-mgmt=owe\npsk=correct horse\n", false),
        (.networkManager, "[wifi-security]\nauth-alg=open\n", false),
        (.networkManager, "[wifi]\npsk=correct horse\n", false),
        (.networkManager, "[wifi]\nsecurity=802-11-wireless-security\n", false),
        (.answer, "802-11-wireless-security.psk:correct horse\n", true),
        (.answer, "802-11-wireless-security.leap-password:correct horse\n", false),
        (.wpaSupplicant, "psk=\"correct horse\"", true),
        (.wpaSupplicant, "key_mgmt=NONE\npsk=\"correct horse\"", false),
        (.wpaSupplicant, "key_mgmt=NONE\nsae_password=\"correct horse\"", false),
        (.wpaSupplicant, "key_mgmt=NONE\n#psk=\"correct horse\"", false),
        (.wpaSupplicant, "key_mgmt=NONE\nPSK=\"correct horse\"", false),
        (.wpaSupplicant, "key_mgmt=NONE\npks=\"correct horse\"", false),
        (.wpaSupplicant, "key_mgmt=NONE\npsk \"correct horse\"", false),
        (.wpaSupplicant, "key_mgmt=NONE\nidentity=\"u\"\npassword=\"correct horse\"", false),
        (.wpaSupplicant, "key_mgmt=OWE\npsk=\"correct horse\"", false),
        (.wpaSupplicant, "key_mgmt=none\npsk=\"correct horse\"", false),
        (.netplan, "        Home:\n        password: correct horse\n", false),
        (.netplan, "        Home:\n", false),
        (.netplan, "        Home: {}\n      password: correct horse\n", false),
        (.netplan, "        Home: {}\n      auth:\n        password: correct horse\n", false),
        (.netplan, "        Home: {hidden: true}\n        password: correct horse\n", false),
        (.netplan, "        Home: {}\n    password: correct horse\n", false),
        (.netplan, "        Home: {}\n  password: correct horse\n", false),
        (.netplan, "        Home:\n          hidden: true\n        pasword: correct horse\n", false),
        (.netplan, "        Home:\n          pasword: correct horse\n", false),
        (.netplan, "        Home:\n          password:\n", false),
        (.netplan, "        Home:\n          password: [correct, horse]\n", false),
        (.netplan, "        Home:\n          auth:\n          key-management: psk\n          hidden: true\n", false),
        (.netplan, "        Home:\n          auth:\n          hidden: true\n", false),
        (.netplan, "        Home:\n          auth: {key-management: none, password: correct horse}\n", false),
        (.netplan, "        Home:\n          auth: {passphrase: correct horse}\n", false),
        (.netplan, "        Home:\n          auth: {method: tls, identity: u}\n", false),
        (.netplan, "        Home:\n          auth: {method: peap, identity: u, password: correct horse}\n", false),
        (
            .netplan, "        Home:\n          networkmanager: {passthrough: {wifi-security.psk: correct horse}}\n",
            false
        ),
        (.netplan, "        Home: correct horse\n", false),
        (.iwd, "[Security]\nPassphrase=correct horse\n", false),
        (.iwd, "[security]\nPassphrase=correct horse\n", false),
        (.customTOML, "\"password\" = 'correct horse'\n", true),
        (.customTOML, "psk = 'correct horse'\n", false),
        (.customTOML, "Password = 'correct horse'\n", false),
        (.customTOML, "[ wlan ] # more\npassword = 'correct horse'\n", true),
        (.customTOML, "[wlan.more]\npassword = 'correct horse'\n", false),
        (.customTOML, "password 'correct horse'\n", false),
        (.firstRun, "imager_custom set_wlan 'Home' \\\n 'correct horse'\n", false),
        (.firstRun, "imager_custom set_wlan 'Home' \"$PASS\"\n", false),
    ])
    private func neverOpen(format: Format, lines: String, isTakenOver: Bool) {
        let text =
            switch format {
            case .networkManager: "[connection]\ntype=wifi\n[wifi]\nssid=Home\n" + lines
            case .answer: "connection.type:802-11-wireless\n802-11-wireless.ssid:Home\n" + lines
            case .wpaSupplicant: "network={\nssid=\"Home\"\n\(lines)\n}\n"
            case .netplan: "network:\n  wifis:\n    wlan0:\n      dhcp4: true\n      access-points:\n" + lines
            case .customTOML: "[wlan]\nssid = \"Home\"\n" + lines
            case .iwd, .firstRun: lines
            }
        var contents = format.read(text)
        contents.resolveFiles { _ in nil }
        #expect(contents.networks.allSatisfy { $0.credential != FoundNetwork.Credential.none }, "\(contents)")
        #expect(contents.networks.map(password) == (isTakenOver ? ["correct horse"] : []))
        #expect(isTakenOver == contents.findings.isEmpty, "\(contents.findings)")
        #expect(contents.findings.allSatisfy { !"\($0)".contains("correct horse") })
    }

    /// What is open in every word stays so.
    @Test(arguments: [
        (Format.networkManager, "[connection]\ntype=wifi\n[wifi]\nssid=Home\n[ipv4]\nmethod=auto\n"),
        (
            .answer,
            "connection.type:802-11-wireless\n802-11-wireless.ssid:Home\n802-11-wireless.powersave:0 (default)\n"
        ),
        (.wpaSupplicant, "network={\nssid=\"Home\"\nscan_ssid=1\nkey_mgmt=NONE\npriority=2\nid_str=\"x\"\n}\n"),
        (.netplan, "wifis: {renderer: networkd, w: {access-points: {Home: {}}}}\n"),
        (.netplan, "wifis: {w: {access-points: {Home: {auth: {key-management: none}, band: 5GHz}}}}\n"),
        (.iwd, "[Settings]\nAutoConnect=true\n"),
        (.customTOML, "[user]\npassword = \"pi\"\n[wlan]\nssid = \"Home\"\ncountry = \"GB\"\nhidden = false\n"),
        (.firstRun, "imager_custom set_wlan 'Home' '' 'GB'\n"),
    ])
    private func openNetworksStayOpen(format: Format, text: String) {
        let contents = format.read(text)
        #expect(names(contents) == ["Home"] && contents.findings.isEmpty)
        #expect(contents.networks.map(\.credential) == [FoundNetwork.Credential.none])
    }

    /// Whatever happens to the lines around it: while the line of the credential is there, nothing is open.
    @Test(arguments: Format.allCases) private func noNetworkThatHadACredentialBecomesOpen(format: Format) {
        var random = SeededRandom(seed: 1)
        var read = 0
        for _ in 0..<Rounds.of(4000) {
            var lines = format.sample.split(separator: "\n", omittingEmptySubsequences: true).map(String.init)
            for _ in 0..<Int.random(in: 1...3, using: &random) { change(&lines, using: &random) }
            guard lines.contains(where: { $0.contains("correct horse") }) else { continue }
            let contents = format.read(lines.joined(separator: "\n") + "\n")
            read += contents.networks.count
            #expect(
                contents.networks.allSatisfy { $0.credential != FoundNetwork.Credential.none },
                "\(lines.joined(separator: "\n"))")
        }
        #expect(read > 0 || format == .iwd, "no change left anything to read")
    }

    /// Takes a line away that is not the credential's, indents one otherwise, puts one elsewhere, or has a word misspelled.
    private func change(_ lines: inout [String], using random: inout SeededRandom) {
        guard let index = lines.indices.randomElement(using: &random) else { return }
        let line = lines[index]
        switch Int.random(in: 0..<5, using: &random) {
        case 0 where !line.contains("correct horse"): lines.remove(at: index)
        case 1:
            let blanks = String(repeating: " ", count: Int.random(in: 0...14, using: &random))
            lines[index] = blanks + line.drop { $0 == " " }
        case 2:
            lines.remove(at: index)
            lines.insert(line, at: Int.random(in: 0...lines.count, using: &random))
        case 3 where line.contains(":") && !line.contains("correct horse"):
            lines[index] = line.prefix { $0 != ":" } + ":"
        case 4 where !line.contains("correct horse"):
            if let letter = line.indices.filter({ line[$0].isLetter }).randomElement(using: &random) {
                lines[index].remove(at: letter)
            }
        default: break
        }
    }

    // MARK: In two places

    @Test func anOpenEntryCountsNowhereBesideACredential() {
        func plan(_ sources: [SourceContents]) -> ImportPlan {
            ImportPlan(sources, device: ImportPlan.Device(maximum: 4))
        }
        let open = Format.netplan.read("wifis: {w: {access-points: {Home: {hidden: true}}}}\n")
        let psk = Format.wpaSupplicant.read("network={\nssid=\"Home\"\npsk=\"correct horse\"\n}\n")
        let owe = Format.wpaSupplicant.read("network={\nssid=\"Home\"\nkey_mgmt=OWE\n}\n")
        let elsewhere = Format.networkManager.read(
            "[connection]\ntype=wifi\n[wifi]\nssid=Home\n[wifi-security]\nkey-mgmt=sae\npsk-flags=1\n")
        for sources in [[open, psk], [psk, open]] {
            #expect(password(plan(sources).home) == "correct horse" && plan(sources).findings.isEmpty)
        }
        for sources in [[open, elsewhere], [elsewhere, open]] {
            #expect(plan(sources).entries.isEmpty)
            #expect(plan(sources).findings.count == 2)
            #expect(
                plan(sources).findings.contains(finding(line: 1, "Home", .credentialElsewhere(Place("/x", line: 4)))))
        }
        #expect(plan([open, owe]).home?.security == .owe && plan([owe, open]).home?.security == .owe)
        #expect(plan([open]).home?.credential == FoundNetwork.Credential.none)
    }

    // MARK: The server of an enterprise network

    private static let certificate = "-----BEGIN CERTIFICATE-----\nMAMCAQA=\n-----END CERTIFICATE-----\n"

    /// - Parameter serverName: nil where the network is left out.
    @Test(arguments: [
        (Format.networkManager, "subject-match=CN=radius.example.com", String?.none),
        (.networkManager, "altsubject-matches=DNS:a.example.com;DNS:b.example.com;", nil),
        (.networkManager, "altsubject-matches=DNS:radius.example.com;", "radius.example.com"),
        (.networkManager, "altsubject-matches=EMAIL:root@example.com", nil),
        (.networkManager, "domain-match=radius.example.com", "radius.example.com"),
        (.networkManager, "domain-suffix-match=a.example.com;b.example.com", nil),
        (.networkManager, "domain-suffix-match=example.com\ndomain-match=radius.example.com", nil),
        (.networkManager, "domain-match=\\xff", nil),
        (.networkManager, "phase2-ca-cert=/etc/other.pem", nil),
        (.networkManager, "phase2-domain-match=example.com", nil),
        (.networkManager, "openssl-ciphers=HIGH", nil),
        (.networkManager, "future-match=x", nil),
        (.networkManager, "future-match=\nauth-timeout=25\nca-cert-password-flags=0", ""),
        (.wpaSupplicant, "altsubject_match=\"DNS:radius.example.com\"", "radius.example.com"),
        (.wpaSupplicant, "altsubject_match=\"DNS:a.example.com;DNS:b.example.com\"", nil),
        (.wpaSupplicant, "subject_match=\"/CN=radius.example.com\"", nil),
        (.wpaSupplicant, "subject_match2=\"/CN=radius.example.com\"", nil),
        (.wpaSupplicant, "check_cert_subject=\"CN=radius.example.com\"", nil),
        (
            .wpaSupplicant, "domain_match=\"radius.example.com\"\naltsubject_match=\"DNS:radius.example.com\"",
            "radius.example.com"
        ),
        (.wpaSupplicant, "domain_suffix_match=ff", nil),
        (.wpaSupplicant, "ca_cert2=\"/etc/other.pem\"", nil),
        (.wpaSupplicant, "ocsp=2", nil),
        (.iwd, "EAP-PEAP-ServerDomainMask=a.example.com;b.example.com", nil),
        (.iwd, "EAP-PEAP-ServerDomainMask=*.*.example.com", nil),
        (.iwd, "EAP-PEAP-ServerKeyHash=00", nil),
        (.iwd, "EAP-PEAP-ServerDomainMask=radius.example.com", "radius.example.com"),
        (.netplan, "802-1x.subject-match: x", nil),
        (.netplan, "802-1x.altsubject-matches: \"DNS:a.example.com;DNS:b.example.com\"", nil),
        (.netplan, "802-1x.altsubject-matches: [a, b]", nil),
        (.netplan, "802-1x.domain-match: [a, b]", nil),
        (.netplan, "802-1x.domain-suffix-match: example.com", "example.com"),
    ])
    private func theServerHasToShowAsMuchAsBefore(format: Format, lines: String, serverName: String?) {
        var contents: SourceContents
        switch format {
        case .networkManager:
            contents = format.read(
                "[connection]\ntype=wifi\n[wifi]\nssid=Work\n[wifi-security]\nkey-mgmt=wpa-eap\n[802-1x]\neap=peap\n"
                    + "identity=u\npassword=p\nphase2-auth=mschapv2\nca-cert=/ca.pem\n\(lines)\n")
        case .netplan:
            contents = format.read(
                "wifis:\n  w:\n    access-points:\n      Work:\n        auth:\n          key-management: eap\n"
                    + "          method: peap\n          identity: u\n          password: p\n"
                    + "          ca-certificate: /ca.pem\n        networkmanager:\n          passthrough:\n"
                    + "            \(lines)\n")
        case .iwd:
            contents = read(
                "[Security]\nEAP-Method=PEAP\nEAP-Identity=u\nEAP-PEAP-CACert=/ca.pem\n"
                    + "EAP-PEAP-Phase2-Method=MSCHAPV2\nEAP-PEAP-Phase2-Password=p\n\(lines)\n"
            ) { IwdSource.read($0, named: Array("Work.8021x".utf8), from: "/x", changed: nil) }
        default:
            contents = format.read(
                "network={\nssid=\"Work\"\nkey_mgmt=WPA-EAP\neap=PEAP\nidentity=\"u\"\npassword=\"p\"\n"
                    + "phase2=\"auth=MSCHAPV2\"\nca_cert=\"/ca.pem\"\n\(lines)\n}\n")
        }
        contents.resolveFiles { _ in Secret(text: Self.certificate) }
        guard let serverName else {
            #expect(contents.networks.isEmpty && contents.findings.count == 1, "\(contents.networks)")
            return
        }
        guard case .enterprise(let credential) = contents.networks.first?.credential else {
            Issue.record("left out: \(contents.findings)")
            return
        }
        #expect((credential.serverName ?? "") == serverName && contents.findings.isEmpty)
    }
}
