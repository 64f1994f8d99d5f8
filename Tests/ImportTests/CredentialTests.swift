import AgentModel
import Randomness
import Testing

@testable import Import

/// An open network is taken over only if all files are understood. No network is taken over with less security than it
/// had.
@Suite struct CredentialTests {
    private func plan(_ sources: SourceContents...) -> ImportPlan {
        ImportPlan(sources, device: ImportPlan.Device(maximum: 8))
    }

    private func hasOpen(_ plan: ImportPlan) -> Bool {
        plan.entries.contains { $0.network.credential == FoundNetwork.Credential.none }
    }

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
        (.networkManager, "[wifi-security]\n", false),
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
        (.wpaSupplicant, "key_mgmt=NONE WPA-PSK", false),
        (.wpaSupplicant, "key_mgmt=NONE OWE", false),
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
        (.customTOML, "[ wlan ] # more\npassword = 'correct horse'\n", false),
        (.customTOML, "hidden = true password = 'correct horse'\n", false),
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
        let plan = plan(contents)
        #expect(!hasOpen(plan), "\(contents)")
        #expect(plan.entries.map { password($0.network) } == (isTakenOver ? ["correct horse"] : []))
        #expect(isTakenOver == plan.findings.isEmpty, "\(plan.findings)")
        #expect((contents.findings + plan.findings).allSatisfy { !"\($0)".contains("correct horse") })
    }

    /// A line that no program would have written holds the open networks of all files back.
    @Test(arguments: [
        (Format.netplan, "    access-points: {Home: {}}\n    auth: {password: x}\n", 4),
        (.netplan, "    access-points: {Home: {}}\nauth: {password: x}\n", 4),
        (.netplan, "    access-points:\n      Home: {}\n      auth: {password: x}\n", 5),
        (.netplan, "    access-points: {Home: {auth: {key-management: }}}\n", 3),
        (.netplan, "    access-points: {Home: {auth: [psk]}}\n", 3),
        (.netplan, "    access-points: {Home: {auth: psk}}\n", 3),
        (.netplan, "    access-points:\n      Home: {}\n      pasword: x\n", 5),
        (.netplan, "    access-points: {Home: {}}\npasword: x\n", 4),
        (.netplan, "    access-points: {Home: {}}\n    nameservers: {pasword: x}\n", 4),
        (.netplan, "    access-points: {Home: {}}\nethernets: {eth0: {password: x}}\n", 4),
        (.netplan, "    access-points: {Home: {}}\nethernets: {eth0: {auth: {password: x}}}\n", 4),
        (.netplan, "    access-points: {Home: {renderer: x}}\n", 3),
        (.netplan, "    access-points: {Home: {bssid: [x]}}\n", 3),
        (.netplan, "    access-points: {Home: {mode: {x: y}}}\n", 3),
        (.netplan, "    access-points: {Home: {band: x}}\n", 3),
        (.netplan, "    access-points: {Home: {channel: x}}\n", 3),
        (.netplan, "    access-points: {Home: {hidden: [x]}}\n", 3),
        (.netplan, "    access-points: {Home: {networkmanager: {passthrough: {wifi.pasword: x}}}}\n", 3),
        (.wpaSupplicant, "network={\nssid=\"Home\"\nkey_mgmt=NONE psk=\"x\"\n}\n", 3),
        (.wpaSupplicant, "network={\nssid=\"Home\"\nkey_mgmt=NONE\nscan_ssid=1 psk=\"x\"\n}\n", 4),
        (.wpaSupplicant, "network={\nssid=\"Home\"\nkey_mgmt=WPA-PSK\nkey_mgmt=NONE\n}\n", 4),
        (.wpaSupplicant, "psk=\"x\"\nnetwork={\nssid=\"Home\"\nkey_mgmt=NONE\n}\n", 1),
        (.wpaSupplicant, "network={\nssid=\"Home\"\nkey_mgmt=NONE\n}\npsk=\"x\"\n", 5),
        (.wpaSupplicant, "update_config=1 psk=\"x\"\n", 1),
        (.wpaSupplicant, "network ={\nssid=\"Home\"\npsk=\"x\"\n}\n", 1),
        (.wpaSupplicant, "network={ ssid=\"Home\"\npsk=\"x\"\n}\n", 1),
        (.networkManager, "[connection]\ntype=wifi\n[wifi]\nssid=Home\npasword=x\n", 5),
        (.networkManager, "[connection]\ntype=wifi\n[wifi]\nssid=Home\nhidden=true psk=x\n", 5),
        (.networkManager, "[connection]\ntype=wifi\n[wifi]\nssid=Home\npsk2-flags=1\n", 5),
        (.networkManager, "[connection]\ntype=wifi\n[wifi]\nssid=Home\nssid=Home\n", 5),
        (.networkManager, "[connection]\ntype=wifi\n[wifi]\nssid=Home\n[wifi-securty]\n", 5),
        (.networkManager, "[connection]\ntype=wifi\n[wifi]\nssid=Home\n[ipv4]\npsk=x\n", 6),
        (.networkManager, "[connection]\ntype=wifi\n[wifi]\nssid=Home\n[user]\nmy.psk=x\n", 6),
        (.networkManager, "[connection]\ntype=wfi\n[wifi]\nssid=Home\n", 3),
        (.answer, "connection.type:802-11-wireless\n802-11-wireless.ssid:Home\n802-11-wireless.pasword:x\n", 3),
        (.iwd, "[Settings]\nPasword=x\n", 2),
        (.customTOML, "pasword = 'x'\n[wlan]\nssid = 'Home'\n", 1),
        (.customTOML, "[wlan]\nssid = 'Home'\n[wifi]\npassword = 'x'\n", 3),
        (.customTOML, "wlan = {ssid = 'Home', pasword = 'x'}\n", 1),
        (.firstRun, "imager_custom set_wlan 'Home' '' 'secret'\n", 1),
        (.firstRun, "imager_custom set_wlan 'Home';'secret'\n", 1),
        (.firstRun, "imager_custom set_wlan --passphrase=x Home\n", 1),
        (.firstRun, "imager_custom set_wlan 'Home' '' 'GB'\nnmcli dev wifi connect Home password x\n", 2),
    ])
    private func aLineThatIsNotUnderstood(format: Format, text: String, line: Int) {
        let contents = format.read(format == .netplan ? "wifis:\n  w:\n" + text : text)
        let place = ImportLocation("/x", line: line)
        #expect(contents.findings.contains(finding(line: line, .notUnderstood)) || contents.doubts == [place])
        #expect(contents.findings.allSatisfy { $0.ssid == nil || !"\($0)".contains("psk=") })
        let plan = plan(contents, Self.cafe)
        #expect(plan.entries.isEmpty)
        #expect(plan.findings.contains(Self.heldBack(by: place)), "\(plan.findings)")
        #expect(!plan.findings.contains { $0.reason == .notUnderstood })
    }

    private static let cafe = ImportTests.read("[Settings]\n") {
        IwdSource.read($0, named: Array("Cafe.open".utf8), from: "/cafe", changed: nil)
    }

    private static func heldBack(by place: ImportLocation) -> ImportFinding {
        ImportFinding(ImportLocation("/cafe"), try? SSID("Cafe"), .besideUnknown(place, option: "--open"))
    }

    /// A file that cannot be read to its end, or a password without a name, may be about any open network.
    @Test(arguments: [
        (Format.netplan, "wifis: {w: {access-points: {Home: {}}}}\npassword: &x y\n", Int?.some(2)),
        (.wpaSupplicant, "network={\npsk=\"12345678\"\n}\n", 1),
        (.networkManager, "[connection]\ntype=wifi\n[wifi]\n[wifi-security]\npsk=12345678\n", nil),
        (.wpaSupplicant, "network={\nssid=\"Home\" psk=\"x\"\nkey_mgmt=NONE\n}\n", 1),
        (.customTOML, "[wlan]\npassword = '12345678'\n", 1),
    ])
    private func aDamagedFileHoldsOpenNetworksBack(format: Format, text: String, line: Int?) {
        let plan = plan(Self.cafe, format.read(text))
        #expect(plan.entries.isEmpty)
        #expect(plan.findings.contains(Self.heldBack(by: ImportLocation("/x", line: line))), "\(plan.findings)")
    }

    @Test func networksWithAPasswordAreTakenFromADamagedFile() {
        let contents = Format.wpaSupplicant.read("network={\nssid=\"Home\"\npsk=\"12345678\"\n}\nfuture=1\n")
        let plan = plan(contents)
        #expect(password(plan.home) == "12345678")
        #expect(plan.findings == [finding(line: 5, .notUnderstood)])
        // A block for any open network has no password.
        let any = Format.wpaSupplicant.read("network={\nkey_mgmt=NONE\n}\n")
        #expect(!hasOpen(self.plan(contents, Self.cafe)) && hasOpen(self.plan(any, Self.cafe)))
    }

    /// Files as programs write them.
    @Test(arguments: [
        (
            Format.networkManager,
            """
            [connection]
            id=Home
            uuid=aab16ee4-0010-43ad-993d-40d8bc4f008b
            type=wifi
            interface-name=wlan0
            permissions=user:pi:;
            timestamp=1700000000

            [wifi]
            mac-address-blacklist=
            mode=infrastructure
            seen-bssids=02:00:00:00:00:01;
            ssid=Home

            [ipv4]
            address1=192.168.1.20/24,192.168.1.1
            dns-search=
            method=manual
            route1=10.0.0.0/8,192.168.1.2
            route1_options=mtu=1400

            [ipv6]
            addr-gen-mode=stable-privacy
            dns-search=
            ip6-privacy=0
            method=auto

            [proxy]

            [user]
            org.example.note=a=b
            """
        ),
        (
            .answer,
            """
            connection.id:Home
            connection.type:802-11-wireless
            connection.autoconnect-slaves:-1 (default)
            connection.mptcp-flags:0x0 (default)
            802-11-wireless.ssid:Home
            802-11-wireless.powersave:0 (default)
            ipv4.routes:{ ip = 10.0.0.0/8, nh = 192.168.1.2 }
            ipv6.temp-valid-lifetime:0 (default)
            proxy.browser-only:no
            GENERAL.STATE:activated
            DHCP4.OPTION[1]:broadcast_address = 192.168.1.255

            """
        ),
        (
            .wpaSupplicant,
            """
            ctrl_interface=DIR=/var/run/wpa_supplicant GROUP=netdev
            ctrl_interface_group=netdev
            update_config=1
            country=DE
            ap_scan=1
            fast_reauth=1
            p2p_disabled=1
            device_name=board
            cred={
                realm="example.com"
                username="u"
                password="p"
            }
            blob-base64-ca={
            AAAA==
            }
            network={
                ssid="Home"
                scan_ssid=1
                key_mgmt=NONE # open
                bssid=02:00:00:00:00:01
                freq_list=2412 2437
                bgscan="simple:30:-70:3600"
                priority=2
                id_str="x"
            }
            """
        ),
        (.netplan, "network: {version: 2, wifis: {renderer: networkd, w: {access-points: {Home: {}}}}}\n"),
        (.netplan, "wifis: {w: {access-points: {Home: {auth: {key-management: none}, band: 5GHz}}}}\n"),
        (
            .netplan,
            """
            network:
              version: 2
              renderer: NetworkManager
              ethernets:
                eth0:
                  match: {macaddress: "02:00:00:00:00:01"}
                  set-name: eth0
                  dhcp4: true
                  dhcp4-overrides: {route-metric: 200}
                  optional: true
              bonds:
                bond0: {interfaces: [eth1, eth2], parameters: {mode: active-backup, primary: eth1}}
              vlans: {vlan5: {id: 5, link: eth0, addresses: [10.5.0.2/24]}}
              wifis:
                wlan0:
                  dhcp6: true
                  regulatory-domain: "DE"
                  link-local: [ipv6]
                  nameservers: {search: [example.com], addresses: [9.9.9.9]}
                  routes: [{to: default, via: 192.168.1.1, metric: 50}]
                  access-points:
                    Home:
                      mode: infrastructure
                      bssid: "02:00:00:00:00:02"
                      channel: 11
                      hidden: false
                      networkmanager:
                        uuid: aab16ee4-0010-43ad-993d-40d8bc4f008b
                        name: Home
                        passthrough:
                          connection.timestamp: "1700000000"
                          wifi.mac-address-randomization: "1"
                          ipv6.ip6-privacy: "-1"
                          proxy._: ""
            """
        ),
        (.iwd, "[Settings]\nAutoConnect=true\n[IPv4]\nAddress=10.0.0.2\n[IPv6]\nEnabled=false\n"),
        (
            .customTOML,
            """
            config_version = 1 # Raspberry Pi OS
            [system]
            hostname = "pi"
            [user]
            name = "pi"
            password = "$5$x=y"
            password_encrypted = true
            [ssh]
            enabled = true
            authorized_keys = [
              "ssh-ed25519 AAAA= pi",
            ]
            [wlan]
            ssid = "Home"
            password_encrypted = false
            hidden = false
            country = "GB"
            [locale]
            keymap = "gb"
            timezone = "Europe/London"
            """
        ),
        (
            .firstRun,
            """
            #!/bin/bash

            set +e

            FIRSTUSER=`getent passwd 1000 | cut -d: -f1`
            if [ -f /usr/lib/raspberrypi-sys-mods/imager_custom ]; then
               /usr/lib/raspberrypi-sys-mods/imager_custom enable_ssh
            else
               systemctl enable ssh
            fi
            if [ -f /usr/lib/userconf-pi/userconf ]; then
               /usr/lib/userconf-pi/userconf 'pi' '$5$x'
            else
               echo "$FIRSTUSER:"'$5$x' | chpasswd -e
            fi
            /usr/lib/raspberrypi-sys-mods/imager_custom set_wlan 'Home' '' 'GB'
            rfkill unblock wifi
            for filename in /var/lib/systemd/rfkill/*:wlan ; do
              echo 0 > $filename
            done
            cat >/etc/default/keyboard <<'KBEOF'
            XKBMODEL="pc105"
            KBEOF
            dpkg-reconfigure -f noninteractive keyboard-configuration
            rm -f /boot/firstrun.sh
            sed -i 's| systemd.run.*||g' /boot/cmdline.txt
            exit 0
            """
        ),
        (.firstRun, "imager_custom set_wlan 'Home' '' 'GB'\n"),
    ])
    private func openNetworksOfOrdinaryFilesStayOpen(format: Format, text: String) {
        let plan = plan(format.read(text))
        #expect(plan.home?.ssid.text == "Home" && plan.findings.isEmpty, "\(plan.findings)")
        #expect(plan.home?.credential == FoundNetwork.Credential.none)
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
            #expect(!hasOpen(plan(contents)), "\(lines.joined(separator: "\n"))")
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
        let open = Format.netplan.read("wifis: {w: {access-points: {Home: {hidden: true}}}}\n")
        let psk = Format.wpaSupplicant.read("network={\nssid=\"Home\"\npsk=\"correct horse\"\n}\n")
        let owe = Format.wpaSupplicant.read("network={\nssid=\"Home\"\nkey_mgmt=OWE\n}\n")
        let elsewhere = Format.networkManager.read(
            "[connection]\ntype=wifi\n[wifi]\nssid=Home\n[wifi-security]\nkey-mgmt=sae\npsk-flags=1\n")
        for plan in [plan(open, psk), plan(psk, open)] {
            #expect(password(plan.home) == "correct horse" && plan.findings.isEmpty)
        }
        for plan in [plan(open, elsewhere), plan(elsewhere, open)] {
            #expect(plan.entries.isEmpty)
            #expect(plan.findings.count == 2)
            #expect(
                plan.findings.contains(finding(line: 1, "Home", .credentialElsewhere(ImportLocation("/x", line: 4)))))
        }
        #expect(plan(open, owe).home?.security == .owe && plan(owe, open).home?.security == .owe)
        #expect(plan(open).home?.credential == FoundNetwork.Credential.none)
    }

    // MARK: Floors

    @Test func aNetworkThatOnePlaceJoinsByWPA3AloneIsJoinedByWPA3Alone() {
        let psk = Format.wpaSupplicant.read("network={\nssid=\"Home\"\npsk=\"correct horse\"\n}\n")
        let sae = Format.networkManager.read(
            "[connection]\ntype=wifi\n[wifi]\nssid=Home\n[wifi-security]\nkey-mgmt=sae\npsk=correct horse\n")
        let elsewhere = Format.networkManager.read(
            "[connection]\ntype=wifi\n[wifi]\nssid=Home\n[wifi-security]\nkey-mgmt=sae\npsk-flags=1\n")
        for plan in [plan(psk, sae), plan(sae, psk), plan(psk, elsewhere), plan(elsewhere, psk)] {
            #expect(plan.home?.security == .wpa3 && password(plan.home) == "correct horse")
        }
        #expect(plan(psk).home?.security == nil)
    }

    /// - Parameter security: nil where the network is left out.
    @Test(arguments: [
        (
            Format.netplan, "wifis: {w: {access-points: {Home: {password: '12345678', auth: {key-management: sae}}}}}",
            Security?.some(.wpa3)
        ),
        (.netplan, "wifis: {w: {access-points: {Home: {password: '12345678', key-management: sae}}}}", .wpa3),
        (.netplan, "wifis: {w: {access-points: {Home: {password: '12345678', auth: [sae]}}}}", nil),
        (.wpaSupplicant, "network={\nssid=\"Home\"\nkey_mgmt=WPA-PSK SAE\nieee80211w=2\npsk=\"12345678\"\n}", .wpa3),
        (.wpaSupplicant, "pmf=2\nnetwork={\nssid=\"Home\"\nkey_mgmt=WPA-PSK SAE\npsk=\"12345678\"\n}", .wpa3),
        (.wpaSupplicant, "network={\nssid=\"Home\"\nkey_mgmt=WPA-PSK\nieee80211w=2\npsk=\"12345678\"\n}", nil),
        (
            .networkManager,
            "[connection]\ntype=wifi\n[wifi]\nssid=Home\n[wifi-security]\nkey-mgmt=wpa-psk\npmf=3\npsk=12345678", nil
        ),
    ])
    private func theFloorOfANetworkStays(format: Format, text: String, security: Security?) {
        let plan = plan(format.read(text))
        #expect(plan.home?.security == security && (plan.home == nil) == (security == nil))
        #expect(security != nil || plan.findings.contains { $0.ssid?.text == "Home" })
    }

    @Test func theTransitionModesOfIwdStayDisabled() {
        func security(_ name: String, _ modes: String) -> Security? {
            let contents = ImportTests.read(
                "[Settings]\nTransitionDisable=true\nDisabledTransitionModes=\(modes)\n"
                    + (name.hasSuffix("psk") ? "[Security]\nPassphrase=12345678\n" : "")
            ) { IwdSource.read($0, named: Array(name.utf8), from: "/x", changed: nil) }
            return plan(contents).home?.security
        }
        #expect(security("Home.psk", "personal") == .wpa3 && security("Home.open", "open") == .owe)
        #expect(security("Home.psk", "") == nil)
    }

    // MARK: The server of an enterprise network

    private static let certificate = "-----BEGIN CERTIFICATE-----\nMAMCAQA=\n-----END CERTIFICATE-----\n"

    /// - Parameter serverName: nil where the network is left out.
    @Test(arguments: [
        (Format.networkManager, "subject-match=CN=radius.example.com", String?.none),
        (.networkManager, "altsubject-matches=DNS:a.example.com;DNS:b.example.com;", nil),
        (.networkManager, "altsubject-matches=DNS:radius.example.com;", nil),
        (.networkManager, "domain-suffix-match=radius.example.com", "radius.example.com"),
        (.networkManager, "subject-match-flags=1", nil),
        (.networkManager, "phase1-auth-flags=32", nil),
        (.networkManager, "phase1-auth-flags=0", ""),
        (.networkManager, "altsubject-matches=EMAIL:root@example.com", nil),
        (.networkManager, "domain-match=radius.example.com", nil),
        (.networkManager, "domain-suffix-match=a.example.com;b.example.com", nil),
        (.networkManager, "domain-suffix-match=example.com\ndomain-match=radius.example.com", nil),
        (.networkManager, "domain-match=\\xff", nil),
        (.networkManager, "phase2-ca-cert=/etc/other.pem", nil),
        (.networkManager, "phase2-domain-match=example.com", nil),
        (.networkManager, "openssl-ciphers=HIGH", nil),
        (.networkManager, "future-match=x", nil),
        (.networkManager, "future-match=\nauth-timeout=25\nca-cert-password-flags=0", ""),
        (.wpaSupplicant, "altsubject_match=\"DNS:radius.example.com\"", nil),
        (.wpaSupplicant, "altsubject_match=\"DNS:a.example.com;DNS:b.example.com\"", nil),
        (.wpaSupplicant, "subject_match=\"/CN=radius.example.com\"", nil),
        (.wpaSupplicant, "subject_match2=\"/CN=radius.example.com\"", nil),
        (.wpaSupplicant, "check_cert_subject=\"CN=radius.example.com\"", nil),
        (.wpaSupplicant, "domain_match=\"radius.example.com\"", nil),
        (.wpaSupplicant, "domain_suffix_match=\"radius.example.com\"", "radius.example.com"),
        (.wpaSupplicant, "phase1=\"tls_ext_cert_check=1\"", nil),
        (.wpaSupplicant, "phase1=\"peaplabel=0\"", ""),
        (.wpaSupplicant, "ieee80211w=2", nil),
        (.wpaSupplicant, "domain_suffix_match=ff", nil),
        (.wpaSupplicant, "ca_cert2=\"/etc/other.pem\"", nil),
        (.wpaSupplicant, "ocsp=2", nil),
        (.iwd, "EAP-PEAP-ServerDomainMask=a.example.com;b.example.com", nil),
        (.iwd, "EAP-PEAP-ServerDomainMask=*.*.example.com", nil),
        (.iwd, "EAP-PEAP-ServerKeyHash=00", nil),
        (.iwd, "EAP-PEAP-ServerDomainMask=radius.example.com", nil),
        (.iwd, "EAP-PEAP-ServerDomainMask=*.example.com", "example.com"),
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
        let plan = plan(contents)
        guard let serverName else {
            #expect(plan.entries.isEmpty && plan.findings.contains { $0.ssid?.text == "Work" }, "\(plan.entries)")
            return
        }
        guard case .enterprise(let credential) = plan.home?.credential else {
            Issue.record("left out: \(plan.findings)")
            return
        }
        #expect((credential.serverName ?? "") == serverName && plan.findings.isEmpty)
    }

    /// A line that is not understood may be a condition for the server, wherever it stands in the file.
    @Test(arguments: [
        "        domain-suffix-match: x\n", "    domain-suffix-match: x\n", "domain-suffix-match: x\n",
        "        networkmanager: {passthrough: {passthrough: {802-1x.subject-match: x}}}\n",
        "    networkmanager: {passthrough: {802-1x.subject-match: x}}\n",
    ])
    func aConditionInAnotherPlace(line: String) {
        var contents = Format.netplan.read(
            "wifis:\n  w:\n    access-points:\n      Work:\n        auth: {key-management: eap, method: peap, "
                + "identity: u, password: p, ca-certificate: /ca.pem}\n" + line)
        contents.resolveFiles { _ in Secret(text: Self.certificate) }
        let plan = plan(contents)
        #expect(plan.entries.isEmpty && plan.findings.map(\.ssid?.text) == ["Work"])
    }
}
