import AgentModel
import Testing

@testable import Import

/// Reads a text as a source.
func read(_ text: String, _ body: (UnsafeRawBufferPointer) -> SourceContents) -> SourceContents {
    Array(text.utf8).withUnsafeBytes(body)
}

func password(_ network: FoundNetwork?) -> String? {
    guard case .passphrase(let secret) = network?.credential else { return nil }
    return secret.withBytes { String(decoding: $0, as: UTF8.self) }
}

func names(_ contents: SourceContents) -> [String] { contents.networks.map { "\($0.ssid)" } }

/// A finding about `/x`.
func finding(line: Int?, _ reason: ImportFinding.Reason) -> ImportFinding {
    ImportFinding(ImportLocation("/x", line: line), reason)
}

/// A finding about a network of `/x`.
func finding(line: Int?, _ ssid: String, _ reason: ImportFinding.Reason) -> ImportFinding {
    ImportFinding(ImportLocation("/x", line: line), try? SSID(ssid), reason)
}

/// Whether the only finding is that this line of `/x` is malformed, and names `token`.
func isMalformed(_ contents: SourceContents, line: Int, naming token: String) -> Bool {
    guard contents.findings.count == 1, let finding = contents.findings.first,
        case .malformed(let problem) = finding.reason
    else { return false }
    return finding.place == ImportLocation("/x", line: line) && problem.contains(token)
}

@Suite struct FindingTests {
    @Test func aFindingNamesItsPlaceAndItsNetwork() {
        #expect("\(finding(line: 4, "a", .malformed("problem")))" == "/x, line 4: a: problem")
        #expect("\(finding(line: nil, .malformed("problem")))" == "/x: problem")
    }

    /// A blank or a line break that is missing makes a password part of a name.
    @Test(arguments: ["password:hunter2", "psk psk=hunter2", "{password=\"hunter2\"}", "psk:\"hunter2"])
    func aNameShowsNoPassword(name: String) {
        for reason: ImportFinding.Reason in [.unknownSetting(name), .unknownSecurity(name), .enterpriseMethod(name)] {
            #expect(!"\(reason)".contains("hunter2"))
        }
    }
}

/// Samples are what `nmcli --offline connection add` of NetworkManager 1.42 wrote.
@Suite struct NetworkManagerTests {
    private func keyFile(_ text: String, timestamps: NetworkManagerSource.Timestamps = [:]) -> SourceContents {
        read(text) { NetworkManagerSource.keyFile($0, from: "/x", timestamps: timestamps) }
    }

    private static let home = #"""
        [connection]
        id=Home
        uuid=aab16ee4-0010-43ad-993d-40d8bc4f008b
        type=wifi
        autoconnect-priority=5

        [wifi]
        mode=infrastructure
        ssid=72;111;109;101;32;78;101;116;59;195;188;34;120;

        [wifi-security]
        key-mgmt=wpa-psk
        psk=\slead\\back;semi=#"q <end>

        [ipv4]
        address1=192.168.1.20/24,192.168.1.1
        address2=10.0.0.5/8
        dns=192.168.1.1;9.9.9.9;
        method=manual

        [ipv6]
        addr-gen-mode=default
        method=auto

        [proxy]

        """#.replacing("<end>", with: "")

    // covers: seed/import
    @Test func aConnectionWithEverything() throws {
        let contents = keyFile(Self.home, timestamps: ["aab16ee4-0010-43ad-993d-40d8bc4f008b": 1_700_000_000])
        #expect(contents.findings.isEmpty)
        let network = try #require(contents.networks.first)
        #expect(network.ssid.text == #"Home Net;ü"x"#)
        #expect(password(network) == #" lead\back;semi=#"q "#)
        #expect(network.priority == 5)
        #expect(network.lastConnected == 1_700_000_000)
        #expect(network.isAutomatic && !network.isHidden && network.security == nil)
        #expect(network.place == ImportLocation("/x", line: 9))
        let address = try StaticAddress(
            address: #require(IPAddress("192.168.1.20")), prefixLength: 24, gateway: IPAddress("192.168.1.1"),
            nameServers: [#require(IPAddress("192.168.1.1")), #require(IPAddress("9.9.9.9"))])
        #expect(network.address == address)
    }

    @Test(arguments: [
        (#"\slead\\trail "#, " lead\\trail "), (#"12\\;34\\;"#, "12;34;"), ("123", "123"), ("65;66;", "AB"),
        ("Home", "Home"), ("300;1;", "300;1;"),
    ])
    func namesAsNetworkManagerWritesThem(written: String, name: String) {
        let contents = keyFile("[connection]\ntype=wifi\n[wifi]\nssid=\(written)\n")
        #expect(contents.networks.first?.ssid.text == name)
        #expect(contents.networks.first?.credential == FoundNetwork.Credential.none)
    }

    @Test(arguments: [
        ("key-mgmt=wpa-eap", ImportFinding.Reason.enterprise),
        ("key-mgmt=wpa-eap-suite-b-192", .unknownSecurity("wpa-eap-suite-b-192")),
        ("key-mgmt=none\nwep-key0=abcde", .wep),
        ("key-mgmt=sae\npsk-flags=1", .passwordElsewhere),
        ("key-mgmt=wpa-psk", .noPassword),
        ("key-mgmt=wpa-psk\npsk=short", .impossiblePassword(.length(5))),
        ("key-mgmt=dpp", .unknownSecurity("dpp")),
    ])
    func whatCannotBeJoined(security: String, reason: ImportFinding.Reason) {
        let contents = keyFile(
            "[connection]\ntype=802-11-wireless\n[802-11-wireless]\nssid=a\n[802-11-wireless-security]\n\(security)\n")
        #expect(contents.networks.isEmpty)
        #expect(contents.findings == [finding(line: 4, "a", reason)])
    }

    @Test func modesAndOtherConnections() {
        #expect(keyFile("[connection]\ntype=ethernet\n[ethernet]\n") == SourceContents())
        for (mode, reason) in [("ap", ImportFinding.Reason.accessPoint), ("adhoc", .adHoc), ("mesh", .mesh)] {
            let contents = keyFile("[connection]\ntype=wifi\n[wifi]\nssid=a\nmode=\(mode)\n")
            #expect(contents.findings == [finding(line: 4, "a", reason)])
        }
        #expect(keyFile("[connection]\ntype=wifi\n[wifi]\n").findings == [finding(line: nil, .noName)])
        let long = keyFile("[connection]\ntype=wifi\n[wifi]\nssid=\(String(repeating: "x", count: 33))\n").findings
        #expect(long.map(\.place) == [ImportLocation("/x", line: 4)])
        guard case .impossibleName(let error) = long.first?.reason else {
            Issue.record("\(long)")
            return
        }
        #expect(error.length == 33)
    }

    @Test func unknownSectionsAreNoObstacleAndGarbageIsToldWithItsLine() {
        let known =
            "[connection]\ntype=wifi\n[vendor-thing]\nx=y\n[wifi]\nssid=a\nfuture=1\n"
            + "[wifi-security]\nkey-mgmt=sae\npsk=12345678\n"
        let contents = keyFile(known)
        #expect(
            names(contents) == ["a"] && contents.findings.isEmpty && contents.doubts == [ImportLocation("/x", line: 3)])
        #expect(contents.networks.first?.security == .wpa3)
        #expect(names(keyFile("[connection]\nid=x\n[wifi]\nssid=a\n")) == ["a"])
        #expect(isMalformed(keyFile("[connection]\n\u{1}garbage\n"), line: 2, naming: "key=value"))
        #expect(isMalformed(keyFile("a=b\n"), line: 1, naming: "group"))
        #expect(
            isMalformed(keyFile("[connection]\ntype=wifi\n[wifi]\nssid=a\\q\n"), line: 4, naming: "escape"))
    }

    /// raspberrypi-sys-mods writes what it is given, so the key is 64 digits.
    @Test func theImagersConnectionHasTheKeyAlone() {
        let key = String(repeating: "0a", count: 32)
        let contents = keyFile(
            "[connection]\nid=preconfigured\nuuid=1\ntype=wifi\n[wifi]\nmode=infrastructure\nssid=Home\nhidden=true\n"
                + "[ipv4]\nmethod=auto\n[wifi-security]\nkey-mgmt=wpa-psk\npsk=\(key)\n")
        #expect(
            contents.networks.first?.credential
                == .derivedKey(Secret(Array(repeating: UInt8(10), count: 32)), candidates: []))
        #expect(contents.networks.first?.isHidden == true)
    }

    @Test func oldAddressesAndBadOnes() throws {
        func address(_ lines: String) -> SourceContents {
            keyFile("[connection]\ntype=wifi\n[wifi]\nssid=a\n[ipv4]\nmethod=manual\n\(lines)\n")
        }
        let old = address("addresses1=192.168.1.5;24;192.168.1.1;")
        #expect(old.networks.first?.address?.gateway == IPAddress("192.168.1.1"))
        let separate = address("address1=192.168.1.5/24\ngateway=192.168.1.254\ndns=1.1.1.1#one.one;")
        #expect(separate.networks.first?.address?.gateway == IPAddress("192.168.1.254"))
        #expect(separate.networks.first?.address?.nameServers == [IPAddress("1.1.1.1")].compactMap(\.self))
        let bad = address("address1=192.168.1.5/24,10.0.0.1")
        #expect(names(bad) == ["a"] && bad.networks.first?.address == nil)
        let gateway = try #require(IPAddress("10.0.0.1"))
        #expect(bad.findings == [finding(line: 4, "a", .impossibleAddress(.gateway(gateway)))])
        #expect(address("address1=x/24").findings == [finding(line: 4, "a", .unreadableAddress("x/24"))])
    }

    @Test func theProgramsAnswers() {
        let list = """
            aab16ee4-0010-43ad-993d-40d8bc4f008b:802-11-wireless
            bab16ee4-0010-43ad-993d-40d8bc4f008b:802-3-ethernet
            --all:802-11-wireless
            """
        #expect(
            Array(list.utf8).withUnsafeBytes { NetworkManagerSource.uuids(inListOf: $0) }
                == ["aab16ee4-0010-43ad-993d-40d8bc4f008b"])
        let answer = """
            connection.id:Home
            connection.type:802-11-wireless
            connection.autoconnect:yes
            connection.autoconnect-priority:3
            connection.timestamp:1700000000
            802-11-wireless.ssid:Home: Net
            802-11-wireless.mode:infrastructure
            802-11-wireless.hidden:no
            802-11-wireless-security.key-mgmt:wpa-psk
            802-11-wireless-security.psk:pass:word\\s
            802-11-wireless-security.psk-flags:0 (none)
            ipv4.method:manual
            ipv4.dns:1.1.1.1,9.9.9.9
            ipv4.addresses:192.168.1.5/24
            ipv4.gateway:192.168.1.1
            """
        let contents = read(answer) { NetworkManagerSource.answer($0, from: "nmcli") }
        #expect(names(contents) == ["Home: Net"])
        #expect(password(contents.networks.first) == "pass:word\\s")
        #expect(contents.networks.first?.address?.gateway == IPAddress("192.168.1.1"))
        #expect(contents.networks.first?.priority == 3 && contents.networks.first?.lastConnected == 1_700_000_000)
    }

    @Test func timestamps() {
        let text = "[timestamps]\naab16ee4-0010-43ad-993d-40d8bc4f008b=1700000000\nx=-1\n"
        #expect(
            Array(text.utf8).withUnsafeBytes { NetworkManagerSource.timestamps($0) }
                == ["aab16ee4-0010-43ad-993d-40d8bc4f008b": 1_700_000_000])
    }
}

// covers: seed/import
@Suite struct WpaSupplicantTests {
    private func supplicant(_ text: String, from path: String = "/x") -> SourceContents {
        read(text) { WpaSupplicantSource.read($0, from: path) }
    }

    private func block(_ fields: String...) -> SourceContents {
        supplicant("network={\n" + fields.joined(separator: "\n") + "\n}\n")
    }

    /// As wpa_passphrase(8) prints it.
    @Test func theOutputOfWpaPassphrase() throws {
        let contents = supplicant(
            "network={\n\tssid=\"Home Net\"\n\t#psk=\"correct horse\"\n"
                + "\tpsk=bb4b86441ece5d83bfa5c94c563c6608457f85482d7bd7cad7e0ca3dcfa91591\n}\n")
        guard case .derivedKey(let key, let candidates) = try #require(contents.networks.first).credential else {
            Issue.record("no key")
            return
        }
        #expect(key.count == 32)
        #expect(candidates == [Secret(text: "correct horse")])
    }

    @Test func aFileAsRaspberryPiOSHasIt() {
        let contents = supplicant(
            """
            country=DE
            ctrl_interface=DIR=/var/run/wpa_supplicant GROUP=netdev
            update_config=1

            network={
            \tssid="Pho#ne"
            \tpsk="with # and "quote""  # comment
            \tpriority=3
            \tscan_ssid=1
            }
            cred={
            \tusername="x"
            }
            network={
            \tssid=486f6d65
            \tkey_mgmt=WPA-PSK SAE
            \tpsk="12345678"
            \tdisabled=1
            }
            network={
            \tssid=P"a\\x41\\n"
            \tkey_mgmt=NONE
            }
            """, from: "/etc/wpa_supplicant/wpa_supplicant-wlan0.conf")
        #expect(contents.findings.isEmpty)
        #expect(names(contents) == ["Pho#ne", "Home", "aA\\x0a"])
        #expect(password(contents.networks[0]) == "with # and \"quote\"")
        #expect(contents.networks[0].priority == 3 && contents.networks[0].isHidden)
        #expect(contents.networks[0].interface == "wlan0")
        #expect(!contents.networks[1].isAutomatic && contents.networks[1].security == nil)
        #expect(contents.networks[2].credential == FoundNetwork.Credential.none)
    }

    @Test func keyManagement() {
        #expect(block("ssid=\"a\"", "key_mgmt=SAE", "sae_password=\"12345678\"").networks.first?.security == .wpa3)
        #expect(block("ssid=\"a\"", "key_mgmt=OWE").networks.first?.security == .owe)
        for (fields, reason) in [
            ("key_mgmt=WPA-EAP\nidentity=\"me\"", ImportFinding.Reason.enterprise),
            ("key_mgmt=NONE\nwep_key0=abcde", .wep), ("psk=ext:home", .passwordElsewhere),
            ("mode=2\npsk=\"12345678\"", .accessPoint), ("mode=1\nkey_mgmt=NONE", .adHoc),
            ("key_mgmt=WPA-PSK", .noPassword), ("psk=\"1234567\"", .impossiblePassword(.length(7))),
        ] {
            let contents = block("ssid=\"a\"", fields)
            #expect(contents.networks.isEmpty)
            #expect(contents.findings == [finding(line: 1, "a", reason)])
        }
        #expect(block("psk=\"12345678\"").findings == [finding(line: 1, .credentialWithoutName)])
        #expect(block("key_mgmt=NONE").findings == [finding(line: 1, .noName)])
        #expect(isMalformed(block("ssid=zz"), line: 1, naming: "SSID"))
    }

    @Test func garbageIsToldInOneLineAndWhatWasReadBeforeItCounts() {
        let contents = supplicant("network={\nssid=\"a\"\nkey_mgmt=NONE\n}\n\u{0}\u{1}\nnetwork={\nssid=\"b\"\n")
        #expect(names(contents) == ["a"])
        #expect(contents.findings.map(\.place.line) == [6])
        let big = [UInt8](repeating: 0x20, count: 10_000_000)
        #expect(
            big.withUnsafeBytes { WpaSupplicantSource.read($0, from: "/x") }.findings
                == [ImportFinding(ImportLocation("/x"), .tooLong)])
        let many = String(repeating: "network={\nssid=\"a\"\nkey_mgmt=NONE\n}\n", count: ImportLimits.networks + 2)
        #expect(supplicant(many).networks.count == ImportLimits.networks)
        #expect(supplicant(many).findings == [finding(line: nil, .tooMany("networks"))])
    }
}

@Suite struct IwdTests {
    private func iwd(_ name: String, _ text: String) -> SourceContents {
        read(text) { IwdSource.read($0, named: Array(name.utf8), from: "/x", changed: 7) }
    }

    // covers: seed/import
    @Test func namesAndPasswords() throws {
        let contents = iwd("Home_Net-1.psk", "[Security]\nPassphrase=\\sa\\\\b 12345\nPreSharedKey=00\n")
        #expect(names(contents) == ["Home_Net-1"])
        #expect(password(contents.networks.first) == " a\\b 12345")
        #expect(contents.networks.first?.lastConnected == 7)
        #expect(names(iwd("=ff01616263.open", "[Settings]\nHidden=true\nAutoConnect=false\n")) == ["\\xff\\x01abc"])
        #expect(isMalformed(iwd("=zz.psk", ""), line: 1, naming: "name"))
        #expect(iwd("Work.8021x", "[Security]\n").findings == [finding(line: nil, "Work", .enterprise)])
        #expect(iwd("a.psk", "").findings == [finding(line: nil, "a", .noPassword)])
        let sealed = iwd("a.psk", "[Security]\nEncryptedSecurity=00ff\nEncryptedSalt=00\n")
        #expect(sealed.findings.map(\.reason) == [.passwordElsewhere])
    }

    @Test func keysAndAddresses() {
        let key = String(repeating: "ab", count: 32)
        let contents = iwd(
            "a.psk",
            "[Security]\nPreSharedKey=\(key)\n[IPv4]\nAddress=10.1.1.5\nNetmask=255.255.0.0\n"
                + "Gateway=10.1.0.1\nDNS=10.1.0.1 9.9.9.9\n"
        )
        #expect(
            contents.networks.first?.credential
                == .derivedKey(Secret(Array(repeating: UInt8(0xab), count: 32)), candidates: []))
        #expect(contents.networks.first?.address?.prefixLength == 16)
        #expect(contents.networks.first?.address?.nameServers.count == 2)
        let odd = iwd("a.open", "[IPv4]\nAddress=10.1.1.5\nNetmask=255.0.255.0\n")
        #expect(names(odd) == ["a"])
        #expect(odd.findings == [finding(line: nil, "a", .unreadableAddress("10.1.1.5/255.0.255.0"))])
    }
}

@Suite struct DhcpcdTests {
    @Test func addressesOfInterfacesAndNetworks() throws {
        let contents = read(
            """
            # comment
            hostname
            static domain_name=example

            interface eth0
            static ip_address=192.168.0.9/24
            interface wlan0
            static ip_address=192.168.0.10/24
            static routers=192.168.0.1 192.168.0.2
            static domain_name_servers=192.168.0.1 fd00::1 9.9.9.9 8.8.8.8
            ssid Home Net
            static ip_address=192.168.7.10/24
            profile static_eth0
            static ip_address=192.168.1.23/24
            ssid Bad
            static ip_address=300.1.1.1/24
            """
        ) { DhcpcdSource.read($0, from: "/etc/dhcpcd.conf") }
        #expect(contents.addresses.map(\.ssid?.text) == ["Home Net", nil])
        let wireless = try #require(contents.addresses.last)
        #expect(wireless.interfaces == [InterfacePattern(names: ["wlan0"])])
        let address = try #require(wireless.address)
        #expect("\(address.address)/\(address.prefixLength)" == "192.168.0.10/24")
        #expect(address.gateway == IPAddress("192.168.0.1"))
        #expect(address.nameServers.count == StaticAddress.maximumServers)
        let bad = ImportFinding(
            ImportLocation("/etc/dhcpcd.conf", line: 16), try SSID("Bad"), .unreadableAddress("300.1.1.1/24"))
        #expect(contents.findings == [bad])
    }
}

// covers: seed/import
@Suite struct ImagerTests {
    @Test func customTOML() {
        let text = """
            # Raspberry Pi OS custom.toml
            config_version = 1
            [user]
            name = "pi"
            password = "not this one"
            [wlan]
            ssid = "It\\u0027s \\"home\\""
            password = 'correct horse'
            password_encrypted = false
            hidden = true
            country = "GB"
            [locale]
            password = "nor this"
            """
        let contents = read(text) { ImagerSource.customTOML($0, from: "/x") }
        #expect(contents.networks.first?.ssid.text == "It's \"home\"")
        #expect(password(contents.networks.first) == "correct horse")
        #expect(contents.networks.first?.isHidden == true)
        let bad = read("[wlan]\nssid = \"\"\"x\n") { ImagerSource.customTOML($0, from: "/x") }
        #expect(isMalformed(bad, line: 2, naming: "string"))
        #expect(read("[wlan]\ncountry = \"GB\"\n") { ImagerSource.customTOML($0, from: "/x") } == SourceContents())
    }

    /// As Imager 1.8 writes it.
    @Test func firstRun() {
        let key = String(repeating: "0a", count: 32)
        let script = """
            #!/bin/bash
            set +e
            if [ -f /usr/lib/raspberrypi-sys-mods/imager_custom ]; then
               /usr/lib/raspberrypi-sys-mods/imager_custom set_hostname pi
            fi
            if [ -f /usr/lib/raspberrypi-sys-mods/imager_custom ]; then
               /usr/lib/raspberrypi-sys-mods/imager_custom set_wlan  -h 'It'\\''s $5' '\(key)' 'DE'
            else
            cat >/etc/wpa_supplicant/wpa_supplicant.conf <<'WPAEOF'
            country=DE
            ap_scan=1
            network={
            \tscan_ssid=1
            \tssid="It's $5"
            \tpsk=\(key)
            }

            WPAEOF
               chmod 600 /etc/wpa_supplicant/wpa_supplicant.conf
            fi
            rm -f /boot/firstrun.sh
            exit 0
            """
        let contents = read(script) { ImagerSource.firstRun($0, from: "/x") }
        #expect(contents.findings.isEmpty)
        #expect(contents.networks.map(\.ssid.text) == ["It's $5", "It's $5"])
        #expect(contents.networks.allSatisfy { $0.isHidden })
        #expect(contents.networks.map(\.place.line) == [7, 12])
        #expect(contents.networks[0].credential == contents.networks[1].credential)
    }

    @Test func wordsOfAScript() {
        func script(_ line: String) -> SourceContents { read(line) { ImagerSource.firstRun($0, from: "/x") } }
        let plain = script(#"imager_custom set_wlan --plain "a\"b" pass\ word1 # GB"#)
        #expect(plain.networks.first?.ssid.text == "a\"b")
        #expect(password(plain.networks.first) == "pass word1")
        #expect(script("imager_custom set_wlan Cafe").networks.first?.credential == FoundNetwork.Credential.none)
        #expect(isMalformed(script("imager_custom set_wlan \"$SSID\" x"), line: 1, naming: "script"))
        #expect(script("# imager_custom set_wlan a b") == SourceContents())
    }
}
