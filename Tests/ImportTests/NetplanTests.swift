import AgentModel
import Testing

@testable import Import

@Suite struct NetplanTests {
    private func netplan(_ text: String) -> SourceContents { read(text) { NetplanSource.read($0, from: "/x") } }

    /// As `netplan set` of 0.106 writes it.
    // covers: seed/import
    @Test func whatNetplanWrites() throws {
        var contents = netplan(
            #"""
            network:
              version: 2
              wifis:
                wlan0:
                  addresses:
                  - "192.168.1.20/24"
                  - "fd00::5/64"
                  nameservers:
                    addresses:
                    - 192.168.1.1
                    - 9.9.9.9
                  dhcp4: false
                  routes:
                  - to: "default"
                    via: "192.168.1.1"
                  access-points:
                    "hid":
                      hidden: true
                      auth:
                        key-management: "psk"
                        password: "12345678"
                    "eap":
                      auth:
                        key-management: "eap"
                        method: "peap"
                        identity: "me"
                        password: "x"
                    "open": {}
                    "ap":
                      auth:
                        key-management: "psk"
                        password: "12345678"
                      mode: "ap"
                    "Home Net \"x\" \xFC":
                      auth:
                        key-management: "psk"
                        password: "correct: horse # \\ \" battery"

            """#)
        contents.resolveFiles { _ in nil }
        #expect(names(contents) == ["hid", "open", "Home Net \"x\" ü"])
        #expect(password(contents.networks.last) == #"correct: horse # \ " battery"#)
        #expect(contents.networks.map(\.isHidden) == [true, false, false])
        #expect(contents.networks.allSatisfy { $0.interface == "wlan0" && $0.addressIsOfInterface })
        let address = try #require(contents.networks.first?.address)
        #expect("\(address.address)/\(address.prefixLength)" == "192.168.1.20/24")
        #expect(address.gateway == IPAddress("192.168.1.1") && address.nameServers.count == 2)
        #expect(
            contents.findings == [finding(line: 29, "ap", .accessPoint), finding(line: 22, "eap", .serverUnchecked)])
    }

    /// As libnetplan writes a connection of NetworkManager's.
    @Test func whatNetworkManagerWritesThroughNetplan() {
        let contents = netplan(
            """
            network:
              version: 2
              wifis:
                NM-aab16ee4-0010-43ad-993d-40d8bc4f008b:
                  renderer: NetworkManager
                  match: {}
                  addresses:
                  - "192.168.1.20/24"
                  nameservers:
                    addresses:
                    - 192.168.1.1
                  dhcp6: true
                  access-points:
                    "Home Net":
                      auth:
                        key-management: "none"
                        password: "correct horse"
                      networkmanager:
                        uuid: "aab16ee4-0010-43ad-993d-40d8bc4f008b"
                        name: "Home"
                        passthrough:
                          connection.autoconnect-priority: "5"
                          wifi-security.key-mgmt: "sae"
                          ipv4.address1: "192.168.1.20/24,192.168.1.1"
                          ipv4.method: "manual"
                          proxy._: ""
                  networkmanager:
                    uuid: "aab16ee4-0010-43ad-993d-40d8bc4f008b"
                    name: "Home"
            """)
        #expect(contents.findings.isEmpty)
        let network = contents.networks.first
        #expect(network?.security == .wpa3 && password(network) == "correct horse")
        #expect(network?.interface == nil && network?.priority == 5 && network?.addressIsOfInterface == false)
        #expect(network?.address?.gateway == IPAddress("192.168.1.1"))
    }

    /// As the Imager writes network-config, before and after cloud-init came to Raspberry Pi OS.
    @Test func whatTheImagerWritesForCloudInit() {
        let key = String(repeating: "0a", count: 32)
        let old = netplan(
            """
            version: 2
            wifis:
              renderer: networkd
              wlan0:
                dhcp4: true
                optional: true
                access-points:
                  "Home":
                    password: "\(key)"
            """)
        let new = netplan(
            """
            network:
              version: 2
              wifis:
                wlan0:
                  dhcp4: true
                  regulatory-domain: "DE"
                  access-points:
                    "Home":
                      password: "\(key)"
                  optional: true
            """)
        for contents in [old, new] {
            #expect(contents.findings.isEmpty && names(contents) == ["Home"])
            guard case .derivedKey = contents.networks.first?.credential else {
                Issue.record("no key")
                continue
            }
        }
        #expect(netplan("# This file contains a netplan-compatible configuration\n#network:\n\n") == SourceContents())
        #expect(netplan("version: 1\nconfig:\n- type: physical\n  name: eth0\n") == SourceContents())
    }

    /// As PyYAML, which cloud-init uses, writes them.
    @Test(arguments: [
        ("'123'", "123"), ("it's", "it's"), ("'x: y'", "x: y"), ("'yes'", "yes"), ("'it''s # 1'", "it's # 1"),
        (#""tab\there\u00e9\N""#, "tab\there\u{e9}\u{85}"), ("a#b", "a#b"), ("a:b", "a:b"),
        ("-x", "-x"), ("[x]", nil), ("\"a\n      b\"", "a b"), ("\"a\\\n      b\"", "ab"), ("'a\n\n      b'", "a\nb"),
    ])
    func scalars(written: String, name: String?) {
        let contents = netplan("wifis:\n  w:\n    access-points:\n      \(written): {}\n")
        #expect(contents.networks.first?.ssid.text == name)
        #expect(contents.findings.isEmpty == (name != nil))
    }

    @Test func flowAndItsAddresses() {
        let contents = netplan(
            """
            ---
            wifis: {wlan0: {addresses: [10.0.0.2/24, "fd00::5/64"], gateway4: 10.0.0.1,
                access-points: {Home: {password: 'it''s long'}, "b":{}}}}   # end
            ...
            """)
        #expect(names(contents) == ["Home", "b"])
        #expect(password(contents.networks.first) == "it's long")
        #expect(contents.networks.first?.address?.gateway == IPAddress("10.0.0.1"))
        let labelled = netplan(
            "wifis:\n  w:\n    addresses:\n    -   10.0.0.2/24:\n            label: x\n"
                + "    access-points:\n        a: {}\n"
        )
        #expect(labelled.networks.first?.address != nil)
        #expect(
            netplan("wifis: {w: {dhcp4: yes, addresses: [10.0.0.2/24], access-points: {a: }}}").networks.first?.address
                == nil)
    }

    @Test(arguments: [
        ("a: &x b", 1, "anchor"), ("a: b\nc: |\n  text\n", 2, "block"), ("a: b\n  c: d\n", 2, "indentation"),
        ("a: b\n\tc: d\n", 2, "tab"), ("a: b\na: c\n", 2, "duplicate"), ("a: b: c\n", 1, "mapping"),
        ("a: \"b\n", 1, "quote"), ("a: [b\n", 2, "bracket"), ("a: [b c: d]\n", 1, "comma"),
        ("a: \"\\q\"\n", 1, "escape"), ("a: b\n---\nc: d\n", 2, "document"), ("? a\n: b\n", 1, "item"),
        ("a: b\nc\n", 2, "colon"), (String(repeating: "[", count: 40), 1, "levels"),
    ])
    func whatIsRefusedIsToldWithItsLine(text: String, line: Int, token: String) {
        let contents = netplan(text)
        #expect(contents.networks.isEmpty)
        #expect(isMalformed(contents, line: line, naming: token), "\(contents.findings)")
    }
}
