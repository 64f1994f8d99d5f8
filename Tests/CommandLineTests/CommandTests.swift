import AgentModel
import AppProtocol
import Foundation
import Terminal
import TestTime
import Testing

@testable import altnet

/// The commands against a device on a real socket.
@Suite struct CommandTests {
    @Test func statusIsAHeadlineAndFacts() async throws {
        let run = try await CommandRun.altnet(["status"], device: ScriptedDevice())
        #expect(
            run.output == """
                Connected to HomeNet (-52 dBm, good)
                  Changed       3 min ago
                  Signal        ▂▄▆█ -52 dBm, 96 %
                  Access point  02:00:00:00:01:00, channel 1, 2412 MHz
                  Addresses     192.168.10.23
                  Uplink        Wi-Fi
                  Backups       2 of 3 stored
                  Device        bench-01, altnet 0.1.0

                """)
        #expect(run.status == 0)
    }

    @Test func scanIsATable() async throws {
        let device = try ScriptedDevice()
        let run = try await CommandRun.altnet(["scan", "--ssid", "a\\x00b", "--frequency", "2412"], device: device)
        #expect(
            run.output == """
                SSID         SIGNAL  dBm  CH  BAND     SECURITY        BSSID              NOTE
                HomeNet      ▂▄▆█    -52   1  2.4 GHz  WPA2/WPA3       02:00:00:00:01:00  in use
                BackupNet    ▂▄··    -71  36  5 GHz    WPA3            02:00:00:00:02:00  stored
                (hidden)     ▂···    -80   6  2.4 GHz  WPA2            02:00:00:00:03:00\("  ")
                \\x1b[2Jevil  ····    -90  11  2.4 GHz  WEP (insecure)  02:00:00:00:04:00\("  ")

                """)
        let request = ScanRequest(ssids: [try SSID("a\0b")], frequencies: [Frequency(megahertz: 2412)])
        #expect(device.asked.contains(.startScan(request)))
    }

    @Test(arguments: [(ScanFinished.Outcome.aborted, Int32(75)), (.failed, 74)])
    func aScanThatFailsSaysSo(outcome: ScanFinished.Outcome, status: Int32) async throws {
        let run = try await CommandRun.altnet(["scan"], device: ScriptedDevice { $0.scanOutcome = outcome })
        #expect(run.status == status)
        #expect(run.output.isEmpty)
    }

    @Test func backupsAreATable() async throws {
        let run = try await CommandRun.altnet(["backups"], device: ScriptedDevice())
        #expect(run.output.hasPrefix("SSID       HASH      SECURITY  HIDDEN  LAST SEEN"))
        #expect(run.output.contains("-61 dBm, 5 min ago  wrong password"))
        #expect(run.output.hasSuffix("2 of 3 stored\n"))
    }

    @Test func addKeepsTheOthers() async throws {
        let device = try ScriptedDevice()
        let run = try await CommandRun.altnet(
            ["backups", "add", "Cellar", "--hidden"], device: device, password: "12345678")
        #expect(run.status == 0)
        let kept = device.backups.networks.map(\.ssid.description)
        #expect(kept == ["BackupNet", "Attic", "Cellar"])
        let cellar = NewNetwork(ssid: try SSID("Cellar"), password: Secret(text: "12345678"), isHidden: true)
        let stored = [try Sample.backup("BackupNet"), try Sample.backup("Attic")].map {
            NetworkReference.stored($0.hash)
        }
        #expect(device.asked.last == .updateBackups(BackupsUpdate(networks: stored + [.new(cellar)], ifRevision: 7)))
        #expect(!(run.output + run.errors).contains("12345678"))
    }

    private static let address = ["--address", "192.168.1.20/24", "--gateway", "192.168.1.1", "--dns", "192.168.1.1"]

    @Test func aNetworkIsAddedWithAnAddress() async throws {
        let device = try ScriptedDevice()
        let run = try await CommandRun.altnet(
            ["backups", "add", "Cellar", "--open", "--dns", "2001:db8::53"] + Self.address, device: device)
        #expect(run.status == 0)
        let servers = try ["2001:db8::53", "192.168.1.1"].map { try #require(IPAddress($0)) }
        let address = try StaticAddress(
            "192.168.1.20/24", gateway: IPAddress("192.168.1.1"), nameServers: servers)
        #expect(device.backups.networks.map(\.address) == [nil, nil, address])
        #expect(run.output.contains("192.168.1.20/24"))
        let json = try await CommandRun.altnet(["backups", "--json"], device: device)
        #expect(try JSONDecoder().decode(BackupList.self, from: Data(json.output.utf8)) == device.backups)
    }

    @Test func anAddressIsSetAndTakenBack() async throws {
        let device = try ScriptedDevice()
        let set = try await CommandRun.altnet(["backups", "set-address", "Attic"] + Self.address, device: device)
        #expect(set.status == 0)
        #expect(device.backups.networks.map(\.address?.text) == [nil, "192.168.1.20/24"])
        #expect(device.backups.networks.map(\.ssid.description) == ["BackupNet", "Attic"])
        let kept = try await CommandRun.altnet(["backups", "set", "Attic"], device: device)
        #expect(kept.status == 0)
        #expect(device.backups.networks.map(\.address?.text) == ["192.168.1.20/24"])
        let back = try await CommandRun.altnet(["backups", "set-address", "Attic", "--dhcp"], device: device)
        #expect(back.status == 0)
        #expect(device.backups.networks.map(\.address) == [nil])
        #expect(!back.output.contains("ADDRESS"))
    }

    @Test func optionsAreSetOneByOne() async throws {
        let device = try ScriptedDevice()
        func options(_ arguments: [String]) async throws -> [NetworkOptions] {
            let run = try await CommandRun.altnet(["backups"] + arguments, device: device)
            #expect(run.status == 0, "\(run.errors)")
            return device.backups.networks.map(\.options)
        }
        #expect(try await options(["set-options", "Attic", "--allow-tkip"]) == [.init(), .init(allowsTKIP: true)])
        let both = NetworkOptions(allowsTKIP: true, isManual: true)
        #expect(try await options(["set-options", "Attic", "--no-automatic"]) == [.init(), both])
        #expect(try await options(["set-options", "Attic", "--no-allow-tkip", "--automatic"]) == [.init(), .init()])
        let added = [NetworkOptions(), .init(), .init(isManual: true)]
        #expect(try await options(["add", "Cafe", "--open", "--no-automatic"]) == added)
    }

    @Test func optionsHaveValues() async throws {
        let device = try ScriptedDevice()
        func attic(_ arguments: [String]) async throws -> NetworkOptions? {
            let run = try await CommandRun.altnet(["backups"] + arguments, device: device)
            #expect(run.status == 0, "\(run.errors)")
            return device.backups.networks.last?.options
        }
        let bssid = try #require(BSSID("02:00:00:00:01:00"))
        let set = ["set-options", "Attic", "--metered", "no", "--band", "5", "--bssid", "02:00:00:00:01:00"]
        #expect(try await attic(set) == NetworkOptions(isMetered: false, band: .five, bssid: bssid))
        let server = try #require(IPAddress("2001:db8::53"))
        let ipv6 = try StaticAddress("2001:db8::20/64", gateway: IPAddress("fe80::1"), nameServers: [server])
        let address = ["--ipv6", "2001:db8::20/64", "--ipv6-gateway", "fe80::1", "--dns", "2001:db8::53"]
        #expect(
            try await attic(["set-address", "Attic"] + address)
                == NetworkOptions(isMetered: false, band: .five, bssid: bssid, ipv6: ipv6))
        #expect(device.backups.networks.last?.address == nil)
        #expect(try await attic(["set-address", "Attic", "--slaac", "--dhcp"])?.ipv6 == nil)
        let unset = ["set-options", "Attic", "--metered", "auto", "--band", "any", "--bssid", "any"]
        #expect(try await attic(unset) == NetworkOptions())
        let added = ["add", "Cafe", "--open", "--metered", "yes", "--band", "2.4"] + address
        #expect(try await attic(added) == NetworkOptions(isMetered: true, band: .twoPointFour, ipv6: ipv6))
    }

    @Test func nameServersBelongToTheIPv4AddressIfBothAreGiven() async throws {
        let device = try ScriptedDevice()
        let both = ["backups", "set-address", "Attic", "--ipv6", "2001:db8::20/64"] + Self.address
        #expect(try await CommandRun.altnet(both, device: device).status == 0)
        let attic = try #require(device.backups.networks.last)
        let server = try #require(IPAddress("192.168.1.1"))
        let ipv6 = try StaticAddress("2001:db8::20/64")
        #expect(attic.address?.nameServers == [server])
        #expect(attic.options.ipv6 == ipv6)
    }

    @Test(arguments: [
        ["set-options", "Attic", "--band", "7"], ["set-options", "Attic", "--metered", "true"],
        ["set-options", "Attic", "--bssid", "03:00:00:00:00:01"], ["set-options", "Attic", "--bssid", "02-00"],
        ["set-address", "Attic"], ["set-address", "Attic", "--ipv6", "192.168.1.20/24"],
        ["set-address", "Attic", "--address", "2001:db8::20/64"],
        ["set-address", "Attic", "--ipv6", "2001:db8::20/64", "--ipv6-gateway", "2001:db9::1"],
        ["set-address", "Attic", "--ipv6-gateway", "fe80::1"], ["set-address", "Attic", "--dns", "9.9.9.9"],
        ["set-address", "Attic", "--ipv6", "2001:db8::20/64", "--slaac"],
        ["set-address", "Attic", "--ipv6", "2001:db8::20/64", "--gateway", "192.168.1.1"],
    ])
    func impossibleValuesAreNotSent(arguments: [String]) async throws {
        let device = try ScriptedDevice()
        #expect(try await CommandRun.altnet(["backups"] + arguments, device: device).status == 64)
        #expect(device.asked.isEmpty)
    }

    @Test func impossibleOptionsAreNotSent() async throws {
        let device = try ScriptedDevice()
        for command in [
            ["backups", "set-options", "Attic"], ["backups", "add", "Cafe", "--open", "--allow-tkip"],
            ["backups", "add", "Cafe", "--wpa3", "--allow-tkip"], ["switch", "Attic", "--no-automatic"],
        ] {
            #expect(try await CommandRun.altnet(command, device: device).status == 64, "\(command)")
        }
        #expect(device.asked.isEmpty)
        let older = try ScriptedDevice { $0.features = [] }
        let list = #"{"networks":[{"ssid":"A","security":"open","automatic":false}]}"#
        for (command, input) in [
            (["backups", "set-options", "Attic", "--allow-tkip"], ""), (["backups", "set", "--stdin"], list),
            (["backups", "add", "Cafe", "--open", "--no-automatic"], ""),
        ] {
            #expect(try await CommandRun.altnet(command, device: older, input: input).status == 76, "\(command)")
        }
        #expect(older.commands.isEmpty)
    }

    @Test func anOlderDeviceIsToldNoAddress() async throws {
        let device = try ScriptedDevice { $0.features = [] }
        let list = #"{"networks":[{"ssid":"A","security":"open","address":{"address":"10.0.0.9/8"}}]}"#
        for (command, input) in [
            (["backups", "set-address", "Attic"] + Self.address, ""),
            (["backups", "set-address", "Attic", "--dhcp"], ""),
            (["backups", "add", "Cafe", "--open"] + Self.address, ""),
            (["switch", "--new", "Cafe", "--open"] + Self.address, ""), (["backups", "set", "--stdin"], list),
        ] {
            let run = try await CommandRun.altnet(command, device: device, input: input)
            #expect(run.status == 76, "\(command)")
            #expect(run.errors.contains("does not support"))
        }
        #expect(device.commands.isEmpty)
    }

    private static let certificate = "-----BEGIN CERTIFICATE-----\nMAMCAQA=\n-----END CERTIFICATE-----\n"
    private static let key = "-----BEGIN PRIVATE KEY-----\nMAMCAQA=\n-----END PRIVATE KEY-----\n"

    /// A folder with ca.pem and key.pem, for as long as `body` runs.
    private func withFiles<Value>(_ body: (_ folder: String) async throws -> Value) async throws -> Value {
        let folder = NSTemporaryDirectory() + "altnet-eap-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try Self.certificate.write(toFile: "\(folder)/ca.pem", atomically: true, encoding: .utf8)
        try Self.key.write(toFile: "\(folder)/key.pem", atomically: true, encoding: .utf8)
        return try await body(folder)
    }

    @Test func addTakesAUsersPassword() async throws {
        try await withFiles { folder in
            let device = try ScriptedDevice()
            let run = try await CommandRun.altnet(
                [
                    "backups", "add", "Works", "--eap", "ttls", "--inner", "pap", "--identity", "kiosk7",
                    "--anonymous-identity", "anonymous", "--ca-cert", "\(folder)/ca.pem", "--server-name",
                    "radius.example.com", "--password-stdin",
                ], device: device, input: "p\n")
            #expect(run.status == 0, "\(run.errors)")
            let credential = try EnterpriseCredential(
                method: .ttls, inner: .pap, identity: "kiosk7", anonymousIdentity: "anonymous",
                password: Secret(text: "p"), caCertificate: Self.certificate, serverName: "radius.example.com")
            let works = NewNetwork(
                ssid: try SSID("Works"), credential: .enterprise(credential), security: .enterprise)
            guard case .updateBackups(let update)? = device.asked.last else {
                Issue.record("no update")
                return
            }
            #expect(update.networks.last == .new(works))
        }
    }

    @Test func addTakesAUsersCertificate() async throws {
        try await withFiles { folder in
            let device = try ScriptedDevice()
            let run = try await CommandRun.altnet(
                [
                    "backups", "add", "Works", "--eap", "tls", "--identity", "board7", "--system-ca", "--server-name",
                    "radius.example.com", "--client-cert", "\(folder)/ca.pem", "--private-key", "\(folder)/key.pem",
                ], device: device)
            #expect(run.status == 0, "\(run.errors)")
            let credential = try EnterpriseCredential(
                method: .tls, identity: "board7", clientCertificate: Self.certificate,
                privateKey: Secret(text: Self.key), usesSystemAuthorities: true, serverName: "radius.example.com")
            guard case .updateBackups(let update)? = device.asked.last else {
                Issue.record("no update")
                return
            }
            let works = NewNetwork(
                ssid: try SSID("Works"), credential: .enterprise(credential), security: .enterprise)
            #expect(update.networks.last == .new(works))
            #expect(!(run.output + run.errors).contains("BEGIN"))
        }
    }

    @Test(arguments: [
        ([], "--identity"), (["--identity", "u"], "--ca-cert"), (["--identity", "u", "--system-ca"], "--server-name"),
        (["--identity", "u", "--ca-cert", "/x", "--system-ca"], "--ca-cert"),
        (["--identity", "u", "--ca-cert", "/x", "--inner", "pap"], "--inner"),
        (["--identity", "u", "--ca-cert", "/x", "--client-cert", "/x"], "--client-cert"),
        (["--identity", "u", "--ca-cert", "/x", "--open"], "--open"),
        (["--identity", "u", "--ca-cert", "/x", "--wpa3"], "--wpa3"),
    ])
    func usersOptionsGoTogether(options: [String], message: String) async throws {
        let device = try ScriptedDevice()
        let run = try await CommandRun.altnet(
            ["backups", "add", "Works", "--eap", "peap", "--password-stdin"] + options, device: device, input: "p")
        #expect(run.status == 64)
        #expect(run.errors.contains(message))
        #expect(device.commands.isEmpty)
        let alone = try await CommandRun.altnet(
            ["backups", "add", "Works", "--password-stdin", "--identity", "u"], device: device, input: "12345678")
        #expect(alone.status == 64 && alone.errors.contains("--eap"))
    }

    @Test func whatIsNoCertificateIsNotSent() async throws {
        try await withFiles { folder in
            let device = try ScriptedDevice()
            for (path, message) in [("key.pem", "--ca-cert: "), ("none.pem", "none.pem")] {
                let run = try await CommandRun.altnet(
                    [
                        "backups", "add", "Works", "--eap", "peap", "--identity", "u", "--ca-cert", "\(folder)/\(path)",
                        "--password-stdin",
                    ], device: device, input: "p")
                #expect(run.status != 0 && run.errors.contains(message), "\(run.errors)")
                #expect(!run.errors.contains("MAMC"))
            }
            #expect(device.commands.isEmpty)
            let older = try ScriptedDevice { $0.features = [] }
            let run = try await CommandRun.altnet(
                [
                    "backups", "add", "Works", "--eap", "peap", "--identity", "u", "--ca-cert", "\(folder)/ca.pem",
                    "--password-stdin",
                ], device: older, input: "p")
            #expect(run.status == 76 && run.errors.contains("does not support"))
        }
    }

    @Test(arguments: [
        (["--address", "192.168.1.20"], "--address:"), (["--address", "192.168.1.0/24"], "--address:"),
        (["--address", "192.168.1.20/24", "--gateway", "10.0.0.1"], "--gateway:"),
        (["--address", "192.168.1.20/24", "--gateway", "router"], "--gateway"),
        (["--address", "192.168.1.20/24", "--dns", "224.0.0.1"], "--dns:"),
        (["--gateway", "192.168.1.1"], "--address"),
        (
            [
                "--address", "192.168.1.20/24", "--dns", "1.1.1.1", "--dns", "1.1.1.2", "--dns", "1.1.1.3", "--dns",
                "1.1.1.4",
            ],
            "--dns:"
        ),
    ])
    func anImpossibleAddressIsNotSent(options: [String], message: String) async throws {
        let device = try ScriptedDevice()
        for command in [
            ["backups", "add", "Cafe", "--open"], ["backups", "set-address", "Attic"],
            ["switch", "--new", "Cafe", "--open"],
        ] {
            let run = try await CommandRun.altnet(command + options, device: device)
            #expect(run.status == 64, "\(command + options)")
            #expect(run.errors.contains(message), "\(run.errors)")
        }
        #expect(device.asked.isEmpty)
    }

    @Test func anAddressOrDHCPIsGiven() async throws {
        let device = try ScriptedDevice()
        for options in [[], ["--dhcp"] + Self.address] {
            #expect(
                try await CommandRun.altnet(["backups", "set-address", "Attic"] + options, device: device).status == 64)
        }
        #expect(try await CommandRun.altnet(["switch", "Attic"] + Self.address, device: device).status == 64)
    }

    @Test func addTakesThePasswordFromStandardInput() async throws {
        let device = try ScriptedDevice()
        let run = try await CommandRun.altnet(
            ["backups", "add", "Attic", "--password-stdin", "--json"], device: device, input: "new password\r\nmore")
        #expect(run.status == 0)
        let hash = NetworkHash(localKey: Sample.key, ssid: try SSID("Attic"), password: Secret(text: "new password"))
        // The new password replaces the old one of the same network.
        #expect(device.backups.networks.map(\.hash) == [try Sample.backup("BackupNet").hash, hash])
        #expect(try JSONDecoder().decode(BackupList.self, from: Data(run.output.utf8)) == device.backups)
    }

    @Test func addBeginsAnewWhenAnotherAppWasFaster() async throws {
        let conflict = ProtocolError(.revisionConflict, "the list has changed")
        let device = try ScriptedDevice { $0.errors = [conflict, conflict] }
        let run = try await CommandRun.altnet(["backups", "add", "Cafe", "--open"], device: device)
        #expect(run.status == 0)
        #expect(device.backups.networks.count == 3)
        let stubborn = try ScriptedDevice { $0.errors = Array(repeating: conflict, count: 9) }
        #expect(try await CommandRun.altnet(["backups", "add", "Cafe", "--open"], device: stubborn).status == 75)
    }

    @Test func aFullListIsRefused() async throws {
        let device = try ScriptedDevice()
        _ = try await CommandRun.altnet(["backups", "add", "Cafe", "--open"], device: device)
        let run = try await CommandRun.altnet(["backups", "add", "Pub", "--open"], device: device)
        #expect(run.status == 65)
        #expect(run.errors.hasSuffix("\(ErrorCode.tooManyNetworks.advice ?? "")\n"))
        #expect(run.errors.contains("3 networks"))
        let json = try await CommandRun.altnet(["backups", "add", "Pub", "--open", "--json"], device: device)
        #expect(json.status == 65)
        let document = try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: [String: Any]]
        #expect(document?["error"]?["code"] as? String == "tooManyNetworks")
        #expect(document?["error"]?["exitStatus"] as? Int == 65)
    }

    @Test(arguments: ["1234567", "", "12345678é"])
    func badPasswordsAreNotSent(password: String) async throws {
        let device = try ScriptedDevice()
        let run = try await CommandRun.altnet(["backups", "add", "Cafe"], device: device, password: password)
        #expect(run.status == 65)
        #expect(device.asked.isEmpty)
    }

    @Test func removeBySSIDAndByHash() async throws {
        let device = try ScriptedDevice()
        #expect(try await CommandRun.altnet(["backups", "remove", "Attic"], device: device).status == 0)
        #expect(device.backups.networks.map(\.ssid.description) == ["BackupNet"])
        let hash = try Sample.backup("BackupNet").hash.base64.prefix(6)
        #expect(try await CommandRun.altnet(["backups", "remove", String(hash)], device: device).status == 0)
        #expect(device.backups.networks.isEmpty)
        let run = try await CommandRun.altnet(["backups", "remove", "Attic\u{1b}"], device: device)
        #expect(run.status == 65)
        #expect(run.errors.contains("Attic\\x1b"))
    }

    @Test func oneNameForTwoNetworksIsRefused() async throws {
        let device = try ScriptedDevice { state in
            let networks = [try Sample.backup("Attic"), try Sample.backup("Attic", password: "another one")]
            state.backups = BackupList(max: 3, revision: 1, networks: networks)
        }
        let run = try await CommandRun.altnet(["backups", "remove", "Attic"], device: device)
        #expect(run.status == 65)
        #expect(run.errors.contains("by its hash"))
        #expect(device.backups.networks.count == 2)
    }

    @Test func setReplacesTheList() async throws {
        let device = try ScriptedDevice()
        #expect(try await CommandRun.altnet(["backups", "set", "Attic", "BackupNet"], device: device).status == 0)
        #expect(device.backups.networks.map(\.ssid.description) == ["Attic", "BackupNet"])
        let input = """
            {"networks": [{"ssid": "Cafe", "security": "open"},
                          {"ssid": "Cellar", "password": "12345678", "hidden": true}]}
            """
        #expect(try await CommandRun.altnet(["backups", "set", "--stdin"], device: device, input: input).status == 0)
        #expect(device.backups.networks.map(\.ssid.description) == ["Cafe", "Cellar"])
        #expect(try await CommandRun.altnet(["backups", "set", "--none"], device: device).status == 0)
        #expect(device.backups.networks.isEmpty)
    }

    @Test(arguments: ["", "nonsense", "{}", #"{"networks":[{"ssid":"a","password":"secret1"}]}"#])
    func setRefusesABadList(input: String) async throws {
        let device = try ScriptedDevice()
        let run = try await CommandRun.altnet(["backups", "set", "--stdin"], device: device, input: input)
        #expect(run.status == 65)
        #expect(!run.errors.contains("secret1"))
        #expect(device.asked.isEmpty)
    }

    // covers: seed/why-switched
    @Test func historyGivesReasons() async throws {
        let run = try await CommandRun.altnet(["history", "--limit", "1"], device: ScriptedDevice())
        #expect(
            run.output == """
                move HomeNet → BackupNet  90 s ago
                  HomeNet faded to -81 dBm [signalWeak]
                    CANDIDATE  dBm   MHz  VERDICT
                    BackupNet  -48  2437  chosen
                    Attic        -     -  notInRange

                """)
    }

    @Test(.timeLimit(.minutes(5))) func watchPrintsALineForEachEvent() async throws {
        let device = try ScriptedDevice()
        async let watching = CommandRun.altnet(["watch", "--count", "2", "--no-signal"], device: device)
        // It asks once it has subscribed.
        try await device.isAsked(.getNetwork)
        device.hub.publish(.signal(SignalReading(signal: -60)))
        device.hub.publish(.backupsChanged(device.backups))
        device.hub.publish(.gap(Gap(reason: .restarted, missed: 0)))
        let lines = try await watching.output.split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines[0].hasSuffix("network   online on HomeNet  ▂▄▆█ -52 dBm"))
        #expect(lines[1].hasSuffix("backups   2 of 3 stored"))
        #expect(lines[2].hasSuffix("was restarted"))
    }

    @Test(.timeLimit(.minutes(5))) func watchPrintsTheProtocolsEvents() async throws {
        let device = try ScriptedDevice()
        let run = try await CommandRun.serving(device) { socket in
            // The command asks for nothing after its subscription: the relay sees the answer to that.
            let relay = try LineRelay(to: socket)
            async let watching = CommandRun.altnet(
                ["watch", "--count", "1", "--json", "--socket", relay.path, "--answer-within", "600"])
            try await relay.hasAnswered()
            device.hub.publish(.signal(SignalReading(signal: -60)))
            return await watching
        }
        #expect(run.status == 0)
        guard case .event(let event) = try ServerLine(line: Array(run.output.utf8.dropLast())) else {
            Issue.record("no event: \(run.output)")
            return
        }
        #expect(event.seq == 1)
        #expect(event.body == .signal(SignalReading(signal: -60)))
    }
}

/// The progress of a slow command on a terminal.
@Suite struct ProgressTests {
    private func text(_ steps: String..., width: Int = .max, unicode: Bool = true) -> String {
        ProgressLine.text(steps, turn: 2, elapsed: .milliseconds(4999), Style(isUnicode: unicode, width: width))
    }

    @Test func stepsStandInALine() {
        #expect(text("accepted", "joining") == "⠹ accepted › joining  4 s")
        #expect(text("accepted", "joining", unicode: false) == "- accepted > joining  4 s")
        #expect(text() == "")
    }

    /// The present step is shown as long as there is any room; one column stays free.
    @Test(arguments: [
        (60, "⠹ accepted › joining › waiting for an address  4 s"), (50, "⠹ joining › waiting for an address  4 s"),
        (39, "⠹ waiting for an address  4 s"), (20, "⠹ waiting for…  4 s"), (10, "⠹ w…  4 s"), (5, ""),
    ])
    func theLineFitsTheTerminal(width: Int, line: String) {
        #expect(text("accepted", "joining", "waiting for an address", width: width) == line)
        #expect(line.columns < width)
    }

    @Test func aSwitchIsOneLineThatIsGoneInTheEnd() async throws {
        let device = try ScriptedDevice {
            $0.phases = [.joining, .waitingForAddress, .committed].map { SwitchStatus(switchId: "s-1", phase: $0) }
        }
        let run = try await CommandRun.altnet(
            ["switch", "Attic", "--confirm-within", "30"], device: device, spinner: Style(width: 80))
        #expect(run.output.hasPrefix("Connected to Attic"))
        let phases = [SwitchPhase.accepted, .joining, .waitingForAddress].map(DisplayText.phase)
        #expect(run.errors.contains(phases.joined(separator: " › ")))
        #expect(run.errors.filter { $0 == "\n" }.count == 1)
        #expect(run.errors.contains("\r\u{1b}[KConfirm within 30 s "))
        #expect(run.errors.hasSuffix("\r\u{1b}[K"))
    }

    /// Advice begins on an empty line, at any moment of the animation. Steps and advice have threads of their own: those of
    /// tasks are few, and a thread that yields to others may wait long.
    @Test func adviceHasALineOfItsOwn() async throws {
        let written = Observed<[String]>([])
        let isOver = Observed(false)
        var console = Console.silent()
        console.spinner = Style(width: 80)
        console.errors = { text in
            written.change { $0.append(text) }
            // Other writers have the occasion now.
            for _ in 0..<3 { sched_yield() }
        }
        try await console.showingProgress { progress in
            async let steps: Void = onThreadOfItsOwn {
                var turn = 0
                while !isOver.value {
                    progress.show("step \(turn % 2)")
                    turn += 1
                }
            }
            defer { isOver.change { $0 = true } }
            try await written.wait("the first step") { !$0.isEmpty }
            try await onThreadOfItsOwn { for _ in 0..<200 { progress.advise("look here") } }
            isOver.change { $0 = true }
            try await steps
        }
        let writes = written.value
        let advice = writes.indices.filter { writes[$0] == "look here\n" }
        #expect(advice.count == 200)
        #expect(advice.allSatisfy { writes[$0 - 1] == "\r" + Control.eraseToEndOfLine })
        #expect(writes.last == "\r" + Control.eraseToEndOfLine)
    }

    @Test func aScanToo() async throws {
        let watched = try await CommandRun.altnet(["scan"], device: ScriptedDevice(), spinner: Style(width: 80))
        #expect(watched.errors.contains("scanning  2 s"))
        #expect(watched.errors.hasSuffix("\r\u{1b}[K"))
        let lines = try await CommandRun.altnet(["scan"], device: ScriptedDevice())
        #expect(lines.errors == "  scanning...\n")
    }

    @Test(arguments: [(0, "0.0 s"), (99, "0.0 s"), (4250, "4.2 s"), (61_000, "61.0 s"), (-5, "0.0 s")])
    func timesAreInSeconds(milliseconds: Int, text: String) {
        #expect(DisplayText.seconds(.milliseconds(milliseconds)) == text)
    }
}
