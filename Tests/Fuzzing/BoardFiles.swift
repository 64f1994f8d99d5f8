import AgentModel

@testable import Import

extension FuzzTarget {
    /// What a user or a program has written into a file for netplan or cloud-init.
    static let netplan = FuzzTarget(
        "netplan", "network configurations of netplan and cloud-init (YAML)", longest: 512,
        seeds: {
            bytes([
                """
                network:
                  version: 2
                  wifis:
                    wlan0:
                      dhcp4: false
                      addresses: ["192.168.1.20/24", "fd00::5/64"]
                      routes:
                      - to: "default"
                        via: 192.168.1.1
                      nameservers: {addresses: [192.168.1.1]}
                      access-points:
                        "Home \\"x\\" \\xFC": # home
                          password: 'it''s a password'

                """,
                "version: 2\nwifis:\n  renderer: networkd\n  wlan0:\n    access-points:\n      a: {}\n",
                "---\nwifis: {w: {access-points: {b: {mode: ap}, c: {auth: {key-management: sae}}}}}\n...\n",
            ])
        }
    ) { bytes in
        check(bytes) { NetplanSource.read($0, from: "netplan") }
        checkNothingIsOpen(Array("password: 12345678\n".utf8) + bytes) { NetplanSource.read($0, from: "netplan") }
    }

    /// The first byte says which format the rest is of.
    static let boardFiles = FuzzTarget(
        "board-files", "files in which other programs keep networks", longest: 512,
        seeds: {
            let texts = [
                """
                [connection]
                id=Home
                uuid=aab16ee4-0010-43ad-993d-40d8bc4f008b
                type=wifi
                [wifi]
                ssid=72;111;109;101;
                [wifi-security]
                key-mgmt=wpa-psk
                psk=\\slead\\\\back
                [ipv4]
                address1=192.168.1.20/24,192.168.1.1
                method=manual
                """,
                "connection.type:802-11-wireless\n802-11-wireless.ssid:Home\n802-11-wireless-security.key-mgmt:sae\n"
                    + "802-11-wireless-security.psk:12345678\nipv4.method:auto\n",
                "country=DE\nnetwork={\n\tssid=\"Ho#me\"\n\tpsk=\"12345678\" # c\n\tkey_mgmt=WPA-PSK SAE\n}\n"
                    + "network={\n ssid=P\"a\\x41\"\n #psk=\"12345678\"\n psk="
                    + String(repeating: "0a", count: 32) + "\n}\n",
                "[Security]\nPassphrase=\\s1234567\n[Settings]\nHidden=true\n"
                    + "[IPv4]\nAddress=10.1.1.5\nNetmask=255.255.0.0\n",
                "interface wlan0\nstatic ip_address=192.168.0.10/24\nstatic routers=192.168.0.1\nssid Home\n",
                "config_version = 1\n[wlan]\nssid = \"Home\"\npassword = '12345678'\npassword_encrypted = false\n",
                "   /usr/lib/raspberrypi-sys-mods/imager_custom set_wlan -h 'It'\\''s' '12345678' 'DE'\nelse\n"
                    + "cat >/etc/wpa_supplicant/wpa_supplicant.conf <<'WPAEOF'\n"
                    + "network={\n\tssid=\"a\"\n\tpsk=\"12345678\"\n}\nWPAEOF\n",
                "auto wlan0\niface wlan0 inet static\n address 10.0.0.5\n netmask 255.0.0.0\n wpa-ssid \"Home\"\n"
                    + " wpa-psk 12345678\niface wlan1 inet dhcp\n wpa-conf /etc/wpa.conf\n",
                "[Match]\nName=!eth0 wl*\n[Network]\nAddress=10.0.0.5\nDNS=9.9.9.9\n[Route]\nGateway=10.0.0.1\n",
                "wlan = { \"ssid\" = 'Home', password = \"\"\"\\\n12345678\"\"\" }\nx = [1, {y = []}]\n",
            ]
            // The last text is of custom.toml too.
            return texts.enumerated().map { index, text in [UInt8(index < 9 ? index : 5)] + Array(text.utf8) }
        }
    ) { bytes in
        guard let first = bytes.first else { return }
        let rest = Array(bytes.dropFirst())
        let timestamps = rest.withUnsafeBytes { NetworkManagerSource.timestamps($0) }
        check(rest) { text in
            switch first % 9 {
            case 0: NetworkManagerSource.keyFile(text, from: "file", timestamps: timestamps)
            case 1: NetworkManagerSource.answer(text, from: "nmcli")
            case 2: WpaSupplicantSource.read(text, from: "wpa_supplicant-wlan0.conf")
            case 3: IwdSource.read(text, named: rest.prefix(40) + Array(".psk".utf8), from: "file", changed: 1)
            case 4: DhcpcdSource.read(text, from: "dhcpcd.conf")
            case 5: ImagerSource.customTOML(text, from: "custom.toml")
            case 7: IfupdownSource.read(text, from: "interfaces")
            case 8: NetworkdSource.read(text, from: "25-wlan.network")
            default: ImagerSource.firstRun(text, from: "firstrun.sh")
            }
        }
        switch first % 9 {
        case 0:
            checkNothingIsOpen(rest + Array("\n[wifi-security]\npsk=12345678\n".utf8)) {
                NetworkManagerSource.keyFile($0, from: "file", timestamps: [:])
            }
        case 1:
            checkNothingIsOpen(rest + Array("\n802-11-wireless-security.psk:12345678\n".utf8)) {
                NetworkManagerSource.answer($0, from: "nmcli")
            }
        case 2:
            checkNothingIsOpen(rest.replacing("network={".utf8, with: "network={\npsk=\"12345678\"".utf8)) {
                WpaSupplicantSource.read($0, from: "wpa_supplicant.conf")
            }
        case 3:
            checkNothingIsOpen(Array("[Security]\nPassphrase=12345678\n".utf8) + rest) {
                IwdSource.read($0, named: Array("a.open".utf8), from: "file", changed: nil)
            }
        case 5:
            checkNothingIsOpen(Array("password = '12345678'\n".utf8) + rest) {
                ImagerSource.customTOML($0, from: "custom.toml")
            }
        default: break
        }
    }
}

/// Whatever else is in a source: where each network may have a credential, none is taken over as open.
private func checkNothingIsOpen(_ bytes: [UInt8], _ read: (UnsafeRawBufferPointer) -> SourceContents) {
    let contents = bytes.withUnsafeBytes { read($0) }
    for entry in ImportPlan([contents], device: ImportPlan.Device(maximum: 2)).entries {
        precondition(entry.network.credential != .none, "a network that may have a credential is open")
    }
}

/// What is read can be stored, what is not is told in a line, and it is the same each time.
private func check(_ bytes: [UInt8], _ read: (UnsafeRawBufferPointer) -> SourceContents) {
    let contents = bytes.withUnsafeBytes { read($0) }
    precondition(bytes.withUnsafeBytes { read($0) } == contents, "the same bytes read differently")
    for network in contents.networks {
        precondition((1...SSID.maximumLength).contains(network.ssid.bytes.count))
        switch network.credential {
        case .none: break
        case .passphrase(let password):
            precondition((try? Passphrase.validate(password, for: network.security)) != nil)
        case .derivedKey(let key, _): precondition(key.count == 32)
        case .unresolved: precondition(network.security == .enterprise)
        case .enterprise: preconditionFailure("no file was read")
        }
    }
    var resolved = contents
    let certificate = Secret(text: "-----BEGIN CERTIFICATE-----\nMAMCAQA=\n-----END CERTIFICATE-----")
    resolved.resolveFiles { $0.utf8.count.isMultiple(of: 2) ? certificate : nil }
    for network in resolved.networks {
        if case .unresolved = network.credential { preconditionFailure("a credential was left as it was") }
    }
    precondition(
        resolved.networks.count + resolved.findings.count == contents.networks.count + contents.findings.count,
        "a network was lost without a word")
    for finding in resolved.findings {
        let line = "\(finding)"
        precondition(!line.contains("\n") && line.printable == line, "a finding is no printable line")
    }
    let device = ImportPlan.Device(home: contents.networks.last?.ssid, maximum: 2)
    let plan = ImportPlan([contents], device: device)
    precondition(plan.backups.count <= 2 && plan.home == nil, "more is stored than there is room for")
    precondition(Set(plan.entries.map(\.network.ssid)).count == plan.entries.count, "a network is there twice")
}
