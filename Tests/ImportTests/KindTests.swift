import AgentModel
import Testing

@testable import Import

/// Each kind of mistake that import made, in each format that allows it.
@Suite struct KindTests {
    private typealias Reason = ImportFinding.Reason

    private func plan(_ sources: [SourceContents]) -> ImportPlan {
        ImportPlan(sources, device: ImportPlan.Device(maximum: 8))
    }

    /// Networks as `name:password`, with the address.
    private func networks(_ plan: ImportPlan) -> [String] {
        plan.entries.map { entry in
            let address = entry.network.address.map { " \($0.address)/\($0.prefixLength)" } ?? ""
            return "\(entry.network.ssid):\(password(entry.network) ?? "-")" + address
        }
    }

    private func supplicant(_ text: String, from path: String = "/x") -> SourceContents {
        read(text) { WpaSupplicantSource.read($0, from: path) }
    }

    private func block(_ lines: String) -> ImportPlan {
        plan([supplicant("network={\nssid=\"Home\"\n\(lines)\n}\n")])
    }

    private static let key = String(repeating: "ab", count: 32)
    private static let home = "network={\nssid=\"Home\"\npsk=\"abcdefgh1\"\n}\n"

    // MARK: Weaker than it was

    /// Nothing is taken that a key or a requirement of the file protects.
    @Test(arguments: [
        "WPA-PSK abcdefgh1\nwpa-key-mgmt NONE", "wireless_key s:abcde", "wireless-enc s:abcde", "encryption abcde",
        "up iwconfig wlan0 key s:abcde", "wpa-psk-file /x",
    ])
    func aKeyOfIfupdownIsSeen(option: String) {
        let text = "iface wlan0 inet dhcp\nwireless-essid Home\n\(option)\n"
        #expect(networks(plan([read(text) { IfupdownSource.read($0, from: "/x") }])) == [])
    }

    @Test func aPassphraseOfIfupdownComesBeforeItsKey() {
        let text = "iface wlan0 inet dhcp\nwpa-ssid Home\nwpa_psk stalepass1\nWPA-PASSPHRASE abcdefgh1\n"
        #expect(networks(plan([read(text) { IfupdownSource.read($0, from: "/x") }])) == ["Home:abcdefgh1"])
    }

    @Test(arguments: ["ieee80211w=02", "ieee80211w=0x2", "ieee80211w=two"])
    func protectedFramesStayRequired(setting: String) {
        let plan = block("key_mgmt=SAE WPA-PSK\npsk=\"abcdefgh1\"\n\(setting)")
        #expect(
            plan.entries.map(\.network.security)
                == block("key_mgmt=SAE\npsk=\"abcdefgh1\"").entries.map(\.network.security))
    }

    @Test(arguments: ["mode=0x2\nkey_mgmt=NONE", "key_mgmt=SAE\nsae_password=\"abcd-efgh-ijkl\"\nsae_pk=1"])
    func isNotTaken(lines: String) { #expect(networks(block(lines)) == []) }

    @Test func anOpenHalfReplacesNoProtectedOne() {
        let found = netplan(
            "{access-points: {Home: {password: abcdefgh1}}}", "{access-points: {Home: {hidden: true}}}")
        #expect(!networks(found).contains("Home:-"))
    }

    // MARK: wpa_supplicant

    @Test(arguments: [
        ("psk=\"abc#defgh\" # a \"b\"", "abc#defgh"), ("psk=\"abcdefgh1\"# it's \"x", "abcdefgh1"),
        ("psk=\"abc\"defgh1\"", "abc\"defgh1"), ("psk=\"abcdefgh1\";", "abcdefgh1"),
        ("psk=\"abcdefgh1\"\npsk=\"abcdefgh2\"", "abcdefgh2"),
        ("key_mgmt=SAE\nsae_password=\"abc\"", "abc"), ("key_mgmt=SAE\nsae_password=616263", "abc"),
        ("key_mgmt=WPA-PSK SAE\npsk=\"abcdefgh1\"\nsae_password=\"abcdefgh1\"", "abcdefgh1"),
    ])
    func aPasswordAsWpaSupplicantReadsIt(lines: String, password: String) {
        #expect(networks(block(lines)) == ["Home:" + password])
    }

    @Test(arguments: [
        ("psk=abcdefgh1", "psk is"), ("psk=\"abcdefgh1", "psk is"),
        ("key_mgmt=SAE\nsae_password=secret12", "sae_password is"),
        ("key_mgmt=WPA-PSK SAE\npsk=\"abcdefgh1\"\nsae_password=\"other\"", "different passwords"),
        ("key_mgmt=SAE\nsae_password=\"abc\"\nsae_password_id=\"x\"", "sae_password_id"),
        ("psk=\"" + key + "\"", "64"), ("psk=" + key + "\n#psk=\"abcdefgh1\"", "key derived"),
        ("key_mgmt=WPA-EAP\neap=PEAP\nidentity=\"u\"\npassword=hash:00\nca_cert=\"/ca\"", "hash"),
        (
            "key_mgmt=WPA-EAP\neap=PEAP\nidentity=\"u\"\npassword=\"p\"\nca_cert=\"/ca\"\nanonymous_identity=x",
            "anonymous"
        ),
    ])
    func aCredentialThatIsNotUnderstoodRefusesItsNetwork(lines: String, word: String) {
        var contents = supplicant("network={\nssid=\"Home\"\n\(lines)\n}\n")
        contents.resolveFiles { _ in nil }
        let plan = plan([contents])
        #expect(plan.entries.isEmpty)
        #expect(plan.findings.map(\.extent) == [.network] && plan.findings.first?.ssid?.text == "Home")
        #expect(plan.findings.first.map { "\($0)".contains(word) } ?? false, "\(plan.findings)")
    }

    @Test func escapesInNames() {
        for (written, name) in [
            (#"Caf\303\251"#, "Café"), (#"a\x4g"#, "a\u{4}g"), (#"a\q"#, "aq"), (#"\1012"#, "A2"),
            (#"\e\"\\"#, "\u{1b}\"\\"),
        ] {
            let contents = supplicant("network={\nssid=P\"\(written)\"\npsk=\"abcdefgh1\"\n}\n")
            #expect(contents.networks.first?.ssid.bytes == Array(name.utf8), "\(written)")
        }
    }

    @Test(arguments: [
        "network = {\nssid=\"Home\"\npsk=\"abcdefgh1\"\n}\n", "network={ ssid=\"Home\" psk=\"abcdefgh1\" }\n",
        "network=\n{\nssid=\"Home\"\npsk=\"abcdefgh1\"\n}\n", "network={\nssid=\"Home\"\npsk=\"abcdefgh1\"}\n",
        "network={\nssid=\"Home\"\npsk=\"abcdefgh1\"\n", "ssid=\"Home\"\npsk=\"abcdefgh1\"\n",
    ])
    func aFileThatYieldsNothingIsReportedWithALine(text: String) {
        let findings = plan([supplicant(text)]).findings
        #expect(findings.map(\.extent) == [.source] && findings.first?.place.line == 1, "\(findings)")
    }

    // MARK: Encodings

    @Test func byteOrderMarks() {
        let bytes = Array("\u{feff}\(Self.home)".utf8)
        #expect(
            networks(plan([bytes.withUnsafeBytes { WpaSupplicantSource.read($0, from: "/x") }])) == ["Home:abcdefgh1"])
        let wide: [UInt8] = Self.home.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), 0] }
        let samples: [[UInt8]] = [[0xff, 0xfe] + wide, wide, [0xfe, 0xff, 0] + Array(wide.dropLast())]
        for bytes in samples {
            let contents = bytes.withUnsafeBytes { WpaSupplicantSource.read($0, from: "/x") }
            #expect(contents.networks.isEmpty && contents.findings.count == 1)
            #expect(contents.findings.first.map { "\($0)".contains("UTF-16") } ?? false, "\(contents)")
        }
    }

    // MARK: Several entries for a network

    @Test func thePriorityOfANetworkIsItsHighest() {
        let text =
            "network={\nssid=\"Cafe\"\nkey_mgmt=NONE\n}\nnetwork={\nssid=\"Z\"\npsk=\"abcdefgh1\"\n}\n"
            + "network={\nssid=\"A\"\npsk=\"abcdefgh1\"\n}\nnetwork={\nssid=\"B\"\npsk=\"abcdefgh1\"\npriority=1\n}\n"
            + "network={\nssid=\"B\"\npsk=\"abcdefgh2\"\npriority=2\n}\n"
        #expect(networks(plan([supplicant(text)])) == ["B:abcdefgh2", "Z:abcdefgh1", "A:abcdefgh1", "Cafe:-"])
        let key = "network={\nssid=\"A\"\npsk=\(Self.key)\npriority=3\n}\n"
        #expect(networks(plan([supplicant(text + key)])).first == "A:abcdefgh1")
    }

    @Test func anOldPasswordDoesNotReplaceAKeyThatItDoesNotDerive() {
        let key = supplicant("network={\nssid=\"Home\"\npsk=\(Self.key)\n}\n", from: "/new")
        let old = supplicant(Self.home, from: "/old")
        #expect(plan([key, old]).entries.isEmpty)
        #expect(plan([key, old]).findings.map(\.reason) == [.derivedKeyOnly])
        #expect(networks(plan([old, key])) == ["Home:abcdefgh1"])
        var resolved = key
        resolved.resolveKeys(others: old.passphrases) { _, _, candidates in candidates.first }
        #expect(networks(plan([resolved, old])) == ["Home:abcdefgh1"])
    }

    @Test func oneReasonIsReportedOnce() {
        let script =
            "imager_custom set_wlan 'Home' '\(Self.key)' 'DE'\ncat >/etc/wpa_supplicant/wpa_supplicant.conf <<'E1'\n"
            + "network={\nssid=\"Home\"\npsk=\(Self.key)\n}\nE1\n"
        let contents = read(script) { ImagerSource.firstRun($0, from: "/x") }
        #expect(plan([contents]).findings == [finding(line: 1, "Home", .derivedKeyOnly)])
    }

    // MARK: Key files

    private func keyFile(_ security: String, wifi: String = "ssid=Home", more: String = "") -> ImportPlan {
        let text = "[connection]\ntype=wifi\n[wifi]\n\(wifi)\n[wifi-security]\n\(security)\n\(more)\n"
        return plan([read(text) { NetworkManagerSource.keyFile($0, from: "/x") }])
    }

    /// `nmcli --offline` of NetworkManager 1.42 reads the same values.
    @Test(arguments: [
        ("ssid=12;34", "12;34"), ("ssid=65;66;", "AB"), ("ssid= 65 ; 66 ;", "AB"), ("ssid=65;256;", "65;256;"),
        ("ssid=6 5;", "6 5;"), ("ssid=Home\nssid=Home2", "Home2"), ("ssid=\"Home\"", "\"Home\""),
    ])
    func namesInKeyFiles(wifi: String, name: String) {
        #expect(keyFile("key-mgmt=WPA-PSK\npsk=abcdefgh1", wifi: wifi).home?.ssid.text == name)
    }

    @Test(arguments: [
        ("address1=192.168.1.5,192.168.1.1", "192.168.1.5/24"), ("addresses=10.0.0.5/8,10.0.0.1;", "10.0.0.5/8"),
        ("address1=192.168.1.5/33", "192.168.1.5/24"), ("address2=10.0.0.9/8\naddress=10.0.0.5/8", "10.0.0.5/8"),
    ])
    func addressesInKeyFiles(lines: String, address: String) {
        let plan = keyFile("key-mgmt=wpa-psk\npsk=abcdefgh1", more: "[ipv4]\nmethod=manual\n" + lines)
        #expect(networks(plan) == ["Home:abcdefgh1 " + address])
    }

    @Test func whyAKeyFileHasNoPassword() {
        func reasons(_ security: String) -> [Reason] { keyFile("key-mgmt=wpa-psk\n" + security).findings.map(\.reason) }
        #expect(reasons("psk-flags=1") == [.passwordElsewhere])
        #expect(reasons("psk-flags=2") == [.passwordAsked])
        #expect(reasons("psk-flags=4") == [.noPassword])
        let malformed = keyFile("key-mgmt=wpa-psk\npsk=abc\\qdefgh")
        #expect(malformed.findings.map(\.extent) == [.network] && malformed.findings.first?.ssid?.text == "Home")
        // GLib knows no other Boolean values, so NetworkManager takes its defaults.
        let plan = keyFile("key-mgmt=wpa-psk\npsk=abcdefgh1", wifi: "ssid=Home\nhidden=yes")
        #expect(plan.home?.isHidden == false)
    }

    @Test func valuesOfIwd() {
        func iwd(_ text: String) -> ImportPlan {
            plan([read(text) { IwdSource.read($0, named: Array("Home.psk".utf8), from: "/x", changed: nil) }])
        }
        #expect(networks(iwd("[Security]\nPassphrase=abcdefgh1\nPassphrase=abcdefgh2\n")) == ["Home:abcdefgh1"])
        #expect(iwd("[Security]\nPassphrase=abc\\qdefgh\n").findings.map(\.extent) == [.network])
        #expect(
            iwd("[Security]\nPassphrase=\(Self.key)\n").findings.map(\.reason) == [.impossiblePassword(.length(64))])
        let both = iwd("[Security]\nPassphrase=abcdefgh1\nPreSharedKey=\(Self.key)\n")
        #expect(both.findings.map(\.reason) == [.derivedKeyOnly])
    }

    /// The installer of eduroam CAT writes such a file.
    @Test func certificatesInsideOfAFileOfIwd() {
        let certificate = "-----BEGIN CERTIFICATE-----\nMAMCAQA=\n-----END CERTIFICATE-----\n"
        let text =
            "[Security]\nEAP-Method=PEAP\nEAP-Identity=anonymous@example.edu\nEAP-PEAP-CACert=embed:eduroam_ca\n"
            + "EAP-PEAP-ServerDomainMask=*.example.edu\nEAP-PEAP-Phase2-Method=MSCHAPV2\n"
            + "EAP-PEAP-Phase2-Identity=u@example.edu\nEAP-PEAP-Phase2-Password=p\n"
            + "[@pem@eduroam_ca]\n\(certificate)\n[Settings]\nAutoConnect=true\n"
        var contents = read(text) { IwdSource.read($0, named: Array("eduroam.8021x".utf8), from: "/x", changed: nil) }
        contents.resolveFiles { _ in nil }
        guard case .enterprise(let credential) = plan([contents]).home?.credential else {
            Issue.record("\(contents.findings)")
            return
        }
        #expect(credential.serverName == "example.edu" && credential.caCertificate?.contains("MAMCAQA=") == true)
    }

    // MARK: Addresses

    /// - Parameter address: nil for DHCP.
    @Test(
        arguments: [
            ("interface wlan0\nstatic ip_address=192.168.1.5\n", "192.168.1.5/24"),
            ("interface wlan0\nstatic ip_address=172.16.1.5\n", "172.16.1.5/16"),
            ("interface wlan0\nstatic ip_address=10.1.1.5\n", "10.1.1.5/8"),
            ("interface wlan0\nstatic ip_address=172.16.5.9/8\nstatic subnet_mask=255.255.255.0\n", "172.16.5.9/24"),
            ("interface wlan0\ninform 192.168.1.5/24\n", "192.168.1.5/24"),
            ("interface wl[a-z]*\nstatic ip_address=192.168.1.5/24\n", "192.168.1.5/24"),
            ("static ip_address=192.168.1.5/24\n", "192.168.1.5/24"),
            ("ssid Home\nstatic ip_address=10.0.0.5/8\n", "10.0.0.5/8"),
            ("interface eth*\nstatic ip_address=192.168.1.5/24\n", nil),
            ("interface wlan0\nstatic ip_address=192.168.1.5/24\nnohook resolv.conf, wpa_supplicant\n", nil),
            ("nohook wpa_supplicant\ninterface wlan0\nstatic ip_address=192.168.1.5/24\n", nil),
            ("denyinterfaces eth0 wl*\ninterface wlan0\nstatic ip_address=192.168.1.5/24\n", nil),
            ("allowinterfaces eth0\ninterface wlan0\nstatic ip_address=192.168.1.5/24\n", nil),
            ("profile p\nstatic ip_address=192.168.1.5/24\ninterface wlan0\nfallback p\n", nil),
            ("ssid Other\nstatic ip_address=192.168.1.5/24\n", nil),
        ] as [(String, String?)])
    func addressesOfDhcpcd(text: String, address: String?) {
        let contents = read(text) { DhcpcdSource.read($0, from: "/d") }
        let plan = plan([supplicant(Self.home), contents])
        #expect(networks(plan) == ["Home:abcdefgh1" + (address.map { " " + $0 } ?? "")])
        #expect(plan.findings.isEmpty)
    }

    @Test(
        arguments: [
            ("[Match]\nName=wlan0\n[Network]\nAddress=192.168.1.5/24\nGateway=192.168.1.1\n", "192.168.1.5/24"),
            ("[Match]\nType=wlan\n[Address]\nAddress=192.168.1.5/24\n[Route]\nGateway=192.168.1.1\n", "192.168.1.5/24"),
            ("[Match]\nSSID=Home\n[Network]\nAddress=10.0.0.5\n", "10.0.0.5/8"),
            ("[Match]\nName=!eth0 !usb0\n[Network]\nAddress=10.0.0.5/8\n", "10.0.0.5/8"),
            ("[Match]\nName=wl*\n[Network]\nDHCP=yes\nAddress=192.168.1.5/24\n", nil),
            ("[Match]\nName=wlan0\n[Network]\nAddress=192.168.4.1/24\nDHCPServer=yes\n", nil),
            ("[Match]\nName=wlan0\nWLANInterfaceType=ap\n[Network]\nAddress=192.168.4.1/24\n", nil),
            ("[Match]\nName=eth0 en*\n[Network]\nAddress=192.168.1.5/24\n", nil),
            ("[Match]\nSSID=Other\n[Network]\nAddress=192.168.1.5/24\n", nil),
        ] as [(String, String?)])
    func addressesOfNetworkd(text: String, address: String?) {
        let first = read(text) { NetworkdSource.read($0, from: "/10-a.network") }
        #expect(
            networks(plan([supplicant(Self.home), first])) == ["Home:abcdefgh1" + (address.map { " " + $0 } ?? "")])
        // The first file that matches counts.
        let dhcp = read("[Match]\nType=wlan\n[Network]\nDHCP=ipv4\n") { NetworkdSource.read($0, from: "/00-a.network") }
        if !text.contains("SSID=") {
            #expect(networks(plan([supplicant(Self.home), dhcp, first])) == ["Home:abcdefgh1"])
        }
    }

    /// A program that configures addresses decides: no address means DHCP.
    @Test func anAddressIsNotTakenFromAProgramThatDoesNotUseIt() {
        let manager = read("[connection]\ntype=wifi\n[wifi]\nssid=Home\n[wifi-security]\nkey-mgmt=sae\npsk=abc\n") {
            NetworkManagerSource.keyFile($0, from: "/n")
        }
        let stale = read("interface wlan0\nstatic ip_address=192.168.1.5/24\n") { DhcpcdSource.read($0, from: "/d") }
        let plan1 = read("wifis: {w: {addresses: [10.0.0.2/8], access-points: {Home: {password: abcdefgh1}}}}") {
            NetplanSource.read($0, from: "/p")
        }
        #expect(networks(plan([manager, plan1, stale])) == ["Home:abc"])
    }

    // MARK: ifupdown

    private func ifupdown(_ text: String) -> SourceContents { read(text) { IfupdownSource.read($0, from: "/x") } }

    @Test(arguments: [
        ("iface wlan0 inet dhcp\n wpa-ssid Home\n wpa-psk abcdefgh1\n", "Home:abcdefgh1"),
        ("iface wlan0 inet dhcp\n wpa-ssid \"My Home\"\n wpa-psk \"abc defgh\"\n", "My Home:abc defgh"),
        (
            "iface wlan0 inet static\n address 192.168.1.5\n netmask 255.255.0.0\n wpa-ssid Home\n wpa-psk abcdefgh1\n",
            "Home:abcdefgh1 192.168.1.5/16"
        ),
        (
            "iface wlan0 inet static\n address 10.0.0.5\n wpa-ssid Home\n wpa-psk abcdefgh1\n",
            "Home:abcdefgh1 10.0.0.5/8"
        ),
        ("iface wlan0 inet dhcp\n wpa-ssid Home\n wpa-key-mgmt NONE\n", "Home:-"),
    ])
    func networksOfIfupdown(text: String, network: String) {
        let text =
            "# comment\nauto lo wlan0\niface lo inet loopback\n" + text + "allow-hotplug eth0\niface eth0 inet dhcp\n"
        #expect(networks(plan([ifupdown(text)])) == [network])
    }

    @Test(arguments: [
        ("wpa-ssid Home\n", Reason.noPassword), ("wpa-ssid Home\nwpa-key-mgmt NONE\nwpa-psk x\n", .openWithCredential),
        ("wireless-essid Home\nwireless-key s:abcde\n", .wep), ("wpa-ssid Home\nwpa-psk \(key)\n", .derivedKeyOnly),
        ("wpa-ssid Home\nwpa-key-mgmt WPA-EAP\nwpa-identity u\n", .enterprise),
    ])
    private func whatIfupdownJoinsAndAltnetDoesNot(lines: String, reason: Reason) {
        var contents = ifupdown("iface wlan0 inet dhcp\n" + lines)
        contents.resolveFiles { _ in nil }
        #expect(plan([contents]).findings.map(\.reason) == [reason])
    }

    @Test func addressesAndFilesOfIfupdown() {
        let contents = ifupdown("iface wlan0 inet static\naddress 192.168.1.5/24\nwpa-conf /etc/wpa.conf\n")
        #expect(contents.references == ["/etc/wpa.conf"])
        #expect(networks(plan([contents, supplicant(Self.home)])) == ["Home:abcdefgh1 192.168.1.5/24"])
        let accessPoint = ifupdown("iface wlan0 inet static\naddress 192.168.4.1/24\nhostapd /etc/hostapd.conf\n")
        #expect(networks(plan([accessPoint, supplicant(Self.home)])) == ["Home:abcdefgh1"])
    }

    // MARK: netplan

    private func netplan(_ files: String...) -> ImportPlan {
        let files = files.map { text in
            Array("network: {version: 2, wifis: {wlan0: \(text)}}\n".utf8).withUnsafeBytes {
                NetplanSource.file($0, from: "/x")
            }
        }
        return plan([NetplanSource.contents(of: files)])
    }

    /// `netplan generate` of 0.106 merges files like this.
    @Test func filesOfNetplan() {
        let home = "access-points: {Home: {password: abcdefgh1}}"
        #expect(
            networks(netplan("{dhcp4: true, \(home)}", "{dhcp4: false, addresses: [10.0.0.5/8]}"))
                == ["Home:abcdefgh1 10.0.0.5/8"])
        #expect(
            networks(netplan("{addresses: [10.0.0.4/8], \(home)}", "{addresses: [10.0.0.5/8]}"))
                == ["Home:abcdefgh1 10.0.0.4/8"])
        #expect(networks(netplan("{addresses: [10.0.0.4/8], \(home)}", "{dhcp4: true}")) == ["Home:abcdefgh1"])
        #expect(networks(netplan("{\(home)}", "{access-points: {Home: {password: abcdefgh2}}}")) == ["Home:abcdefgh2"])
        #expect(netplan("{match: {name: wlp*}, \(home)}").home?.interface == nil)
    }

    @Test func aPasswordOfNetplanWithoutAValue() {
        for password in ["", "~", "\"\""] {
            let plan = netplan("{access-points: {Home: {password: \(password)}}}")
            #expect(plan.entries.isEmpty && plan.findings.map(\.extent) == [.network])
        }
        // An unknown setting changes no password.
        #expect(networks(netplan("{access-points: {Home: {password: abcdefgh1, future: 1}}}")) == ["Home:abcdefgh1"])
    }

    @Test func quotedTextWithWindowsLineEnds() {
        let text =
            "wifis:\r\n  w:\r\n    access-points:\r\n      Home:\r\n        password: \"abcd\r\n          efgh\"\r\n"
        #expect(networks(plan([read(text) { NetplanSource.read($0, from: "/x") }])) == ["Home:abcd efgh"])
    }

    // MARK: TOML

    private func toml(_ text: String) -> ImportPlan {
        plan([read(text) { ImagerSource.customTOML($0, from: "/x") }])
    }

    @Test(arguments: [
        "wlan.ssid = \"Home\"\n\"wlan\".'password' = 'abcdefgh1'\n",
        "[ \"wlan\" ] # x\nssid='Home'\npassword=\"abcdefgh1\" # y",
        "wlan = { ssid = \"Home\", password = \"abcdefgh1\", hidden = false } # z\n",
        "[wlan]\r\nssid = \"\"\"Home\"\"\"\r\npassword = \"\"\"\\\r\n   abcdefgh1\"\"\"\r\n",
        "[ssh]\nauthorized_keys = [\"a\", # x\n 'b', ]\n[wlan]\nssid = \"H\\u006fme\"\npassword = \"abcdefgh1\"\n",
        "list = [[1, 2.5], [\"a\"], {x = [], y = 1979-05-27T07:32:00Z}]\nwlan = {ssid = 'Home', password = 'abcdefgh1'}\n",
    ])
    func customTOML(text: String) { #expect(networks(toml(text)) == ["Home:abcdefgh1"]) }

    @Test(arguments: [
        ("[wlan]\nssid = Home\n", 2), ("[wlan]\nssid = \"Home\n", 2), ("[wlan]\nssid = \"a\" \"b\"\n", 2),
        ("[wlan\nssid = 'a'\n", 1), ("[wlan]\nssid = 'a'\nssid = 'b'\n", 3), ("wlan = {ssid = 'a',\n}\n", 1),
        ("[wlan]\nssid = \"\\q\"\n", 2), ("x = [1\n2]\n", 2), ("x = [1\n", 2), ("x\n", 1), ("x =\n", 1),
        ("x = \(String(repeating: "[", count: 40))\n", 1), ("[[wlan]]\nssid = 'a'\n", 1), ("[wifi]\nssid = 'a'\n", 1),
    ])
    func tomlThatIsRefusedIsReportedWithItsLine(text: String, line: Int) {
        let plan = toml(text)
        #expect(plan.entries.isEmpty)
        #expect(plan.findings.map(\.place) == [ImportLocation("/x", line: line)], "\(plan.findings)")
    }

    // MARK: Scripts

    @Test(arguments: ["$SSID", "`id`", "${SSID:-x}"]) func textThatAShellExpandsIsRefused(name: String) {
        func script(_ word: String) -> ImportPlan {
            let text =
                "SSID=Home\ncat > /etc/wpa_supplicant/wpa_supplicant.conf << \(word)\nnetwork={\nssid=\"\(name)\"\n"
                + "psk=\"abcdefgh1\"\n}\nEOF\n"
            return plan([read(text) { ImagerSource.firstRun($0, from: "/x") }])
        }
        #expect(script("EOF").entries.isEmpty && script("EOF").findings.map(\.place.line) == [4])
        #expect(networks(script("'EOF'")) == [name + ":abcdefgh1"])
    }

    // MARK: Programs that are not read

    @Test func aProgramThatIsNotReadHoldsNoNetworkBack() throws {
        let connman = try #require(BoardFile.all.first { $0.format == .unread(program: "ConnMan") })
        let unread = read("x") { connman.read($0, from: "/c", named: [], changed: nil, timestamps: [:]) }
        let plan = plan([unread, supplicant("network={\nssid=\"Cafe\"\nkey_mgmt=NONE\n}\n")])
        #expect(networks(plan) == ["Cafe:-"])
        #expect(plan.findings.map(\.reason) == [.notRead(program: "ConnMan")])
    }
}
