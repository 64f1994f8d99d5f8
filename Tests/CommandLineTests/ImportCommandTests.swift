import AgentModel
import AppProtocol
import Foundation
import Import
import KeyFile
import Testing

@testable import altnet

private typealias Reason = Import.ImportFinding.Reason

@Suite struct ImportCommandTests {
    /// A board's files, and a device beside them.
    private struct Bench {
        let folder: String
        var root: String { folder + "/root" }
        var state: String { folder + "/state" }
        var settings: String { folder + "/settings" }

        func add(_ path: String, _ text: String) throws {
            let path = root + path
            try FileManager.default.createDirectory(
                atPath: URL(fileURLWithPath: path).deletingLastPathComponent().path, withIntermediateDirectories: true)
            try text.write(toFile: path, atomically: true, encoding: .utf8)
        }

        func run(
            _ options: [String], password: String? = nil, answers: [String] = []
        ) async -> CommandRun {
            await CommandRun.altnet(
                ["import", "--root", root, "--settings", settings, "--root-key", folder + "/keys/root-key"] + options,
                password: password, answers: answers)
        }

        func open() throws -> KeyFile {
            try StorePlace(path: state + "/keyfile", rootKey: .file(path: folder + "/keys/root-key"))
                .open(maximumBackups: 3)
        }

        /// Path and content of every file of the board.
        var files: [String: Data] {
            let names = FileManager.default.enumerator(atPath: root)?.allObjects.compactMap { $0 as? String } ?? []
            return names.reduce(into: [:]) { $0[$1] = FileManager.default.contents(atPath: root + "/" + $1) }
        }
    }

    private func withBench(socket: String = "/nowhere", _ body: (Bench) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/altnet-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let bench = Bench(folder: folder)
        try FileManager.default.createDirectory(atPath: bench.root, withIntermediateDirectories: true)
        try "ALTNET_STATE_DIR=\(bench.state)\nALTNET_SOCKET=\(socket)\nALTNET_MAX_BACKUPS=3\n"
            .write(toFile: bench.settings, atomically: true, encoding: .utf8)
        try await body(bench)
    }

    private static let connection = """
        [connection]
        type=wifi
        autoconnect-priority=5
        [wifi]
        ssid=HomeNet
        [wifi-security]
        key-mgmt=wpa-psk
        psk=correct horse
        [ipv4]
        method=manual
        address1=192.168.1.20/24,192.168.1.1

        """
    private static let supplicant = """
        network={
        \tssid="Cafe"
        \tkey_mgmt=NONE
        }
        network={
        \tssid="Work"
        \tkey_mgmt=WPA-EAP
        }

        """
    /// Of "correct horse" and "Home Net", as wpa_passphrase(8) makes it.
    private static let key = "bb4b86441ece5d83bfa5c94c563c6608457f85482d7bd7cad7e0ca3dcfa91591"

    private func addFiles(to bench: Bench) throws {
        try bench.add("/etc/NetworkManager/system-connections/Home.nmconnection", Self.connection)
        try bench.add("/etc/wpa_supplicant/wpa_supplicant.conf", Self.supplicant)
    }

    // covers: seed/user-maker
    @Test func showsWhatItFoundThenAsksThenStores() async throws {
        try await withBench { bench in
            try addFiles(to: bench)
            let before = bench.files
            let table = """
                NETWORK  SECURITY   ROLE    WHAT HAPPENS                 FROM
                HomeNet  WPA2/WPA3  home    stored with 192.168.1.20/24  /etc/NetworkManager/system-connections/Home.nmconnection, line 5
                Cafe     open       backup  stored                       /etc/wpa_supplicant/wpa_supplicant.conf, line 1

                Not imported:
                  /etc/wpa_supplicant/wpa_supplicant.conf, line 5: Work: \(Reason.enterprise)

                """
            let dry = await bench.run(["--dry-run"])
            #expect(dry.output.hasPrefix(table) && dry.output.contains("Nothing was stored"))
            #expect(!FileManager.default.fileExists(atPath: bench.state))
            let refused = await bench.run([], answers: ["no"])
            #expect(refused.status == 1)
            #expect(refused.errors.contains("nothing was stored"))
            #expect(!FileManager.default.fileExists(atPath: bench.state))
            let unasked = await bench.run([])
            #expect(unasked.status == 1)
            #expect(unasked.errors.contains("give --yes"))

            let run = await bench.run([], answers: ["yes"])
            #expect(run.status == 0)
            #expect(run.output.hasPrefix(table) && run.output.contains("\nHomeNet is home"))
            #expect(run.output.contains("1 backup"))
            let state = try bench.open().state
            #expect(state.home?.ssid.text == "HomeNet")
            #expect(state.home?.staticAddress?.gateway == IPAddress("192.168.1.1"))
            guard case .passphrase(let password, _) = state.home?.credential else {
                Issue.record("no password")
                return
            }
            #expect(password == Secret(text: "correct horse"))
            #expect(state.backups.map(\.ssid.text) == ["Cafe"])
            #expect(state.backupsRevision == 1)
            #expect(FileManager.default.fileExists(atPath: bench.state + "/device-id"))

            let again = await bench.run(["--yes"])
            #expect(again.output.contains("nothing to store"))
            #expect(again.output.contains("already stored"))
            #expect(bench.files == before)
            for run in [dry, refused, run, again] { #expect(!(run.output + run.errors).contains("correct horse")) }
        }
    }

    @Test func asJSON() async throws {
        struct Report: Decodable {
            struct Network: Decodable {
                let ssid: String
                let role: String
                let security: String
                let address: String?
            }
            struct Omission: Decodable {
                let ssid: String?
                let extent: String
                let reason: String
            }
            let networks: [Network]
            let notTaken: [Omission]
            let stored: Bool
            let agentRuns: Bool
        }
        try await withBench { bench in
            try addFiles(to: bench)
            let dry = await bench.run(["--dry-run", "--json"])
            #expect(try JSONDecoder().decode(Report.self, from: Data(dry.output.utf8)).stored == false)
            let run = await bench.run(["--yes", "--json"])
            let report = try JSONDecoder().decode(Report.self, from: Data(run.output.utf8))
            #expect(report.stored && !report.agentRuns)
            #expect(report.networks.map(\.role) == ["home", "backup"])
            #expect(report.networks.map(\.address) == ["192.168.1.20/24", nil])
            #expect(report.notTaken.map(\.ssid) == ["Work"])
            #expect(report.notTaken.map(\.extent) == ["network"])
            #expect(!run.output.contains("correct horse"))
        }
    }

    @Test func whatIsStoredIsReplacedOnlyByForce() async throws {
        try await withBench { bench in
            try addFiles(to: bench)
            #expect(await bench.run(["--yes"]).status == 0)
            try bench.add(
                "/etc/NetworkManager/system-connections/Home.nmconnection",
                Self.connection.replacing("correct horse", with: "another password"))
            #expect(await bench.run(["--yes"]).output.contains("nothing to store"))
            #expect(await bench.run(["--yes", "--force"]).status == 0)
            guard case .passphrase(let password, _) = try bench.open().state.home?.credential else {
                Issue.record("no password")
                return
            }
            #expect(password == Secret(text: "another password"))
        }
    }

    /// The Imager and wpa_passphrase(8) leave the key alone, of which the password does not come back.
    @Test func aKeyIsHeldAgainstThePasswordThatTheUserTells() async throws {
        try await withBench { bench in
            let file = "/etc/NetworkManager/system-connections/preconfigured.nmconnection"
            try bench.add(
                file,
                Self.connection.replacing("HomeNet", with: "Home Net").replacing("correct horse", with: Self.key))
            let dry = await bench.run(["--dry-run"])
            #expect(dry.output.contains("\(Reason.derivedKeyOnly)"))
            #expect(dry.output.contains("asks for the password of Home Net"))
            let wrong = await bench.run([], password: "battery staple", answers: ["yes"])
            #expect(wrong.errors.contains("does not match"))
            #expect(wrong.output.contains("nothing to store"))
            let right = await bench.run([], password: "correct horse", answers: ["yes"])
            #expect(right.output.contains("Home Net is home"))
            #expect(try bench.open().state.home?.ssid.text == "Home Net")
        }
        try await withBench { bench in
            let file = "/etc/wpa_supplicant/wpa_supplicant.conf"
            let block = "network={\n\tssid=\"Home Net\"\n\t#psk=\"correct horse\"\n\tpsk=\(Self.key)\n}\n"
            // A comment that is not of this key is not believed.
            try bench.add(file, block.replacing("correct horse", with: "battery staple"))
            #expect(await bench.run(["--yes"]).output.contains("nothing to store"))
            try bench.add(file, block)
            #expect(await bench.run(["--yes"]).output.contains("Home Net is home"))
        }
    }

    @Test func badFilesAreALineEachAndCostNothing() async throws {
        try await withBench { bench in
            try addFiles(to: bench)
            try bench.add("/etc/wpa_supplicant/big.conf", String(repeating: "# comment\n", count: 1_000_000))
            try bench.add("/etc/netplan/50-bad.yaml", "network: &x\n")
            try bench.add("/boot/firmware/firstrun.sh", "imager_custom set_wlan \"$X\" y\n")
            try FileManager.default.createDirectory(
                atPath: bench.root + "/boot/firmware/custom.toml", withIntermediateDirectories: true)
            let run = await bench.run(["--yes"])
            #expect(run.status == 0)
            for line in [
                "  /etc/wpa_supplicant/big.conf: \(Reason.tooLong)\n",
                "  /etc/netplan/50-bad.yaml, line 1: ",
                "  /boot/firmware/firstrun.sh, line 1: ", "  /boot/firmware/custom.toml: \(Reason.notAFile)\n",
            ] { #expect(run.output.contains(line)) }
            #expect(try bench.open().state.home?.ssid.text == "HomeNet")
        }
    }

    /// The program stands in for nmcli, which has no key file of the connection.
    @Test func networkManagerIsAskedWhereItHasNoFiles() async throws {
        try await withBench { bench in
            let program = bench.folder + "/nmcli"
            try """
            #!/bin/sh
            case "$*" in
            *"--fields UUID,TYPE connection show") echo aab16ee4-0010-43ad-993d-40d8bc4f008b:802-11-wireless ;;
            *"--show-secrets connection show uuid aab16ee4-0010-43ad-993d-40d8bc4f008b")
                printf 'connection.type:802-11-wireless\\n802-11-wireless.ssid:HomeNet\\n'
                printf '802-11-wireless-security.key-mgmt:sae\\n802-11-wireless-security.psk:correct horse\\n' ;;
            *) exit 2 ;;
            esac
            """.write(toFile: program, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
            let asked = NetworkManagerProgram(program: program)
            let files = try SourceFiles(root: bench.root)
            let networks = Board(files, networkManager: asked).read().flatMap(\.networks)
            #expect(networks.map(\.ssid.text) == ["HomeNet"])
            #expect(networks.map(\.security) == [.wpa3])
            #expect(networks.map(\.credential) == [.passphrase(Secret(text: "correct horse"))])
            try addFiles(to: bench)
            #expect(Board(files, networkManager: asked).read().flatMap(\.networks).count == 2)
            let missing = NetworkManagerProgram(program: bench.folder + "/none")
            #expect(missing.read().isEmpty)
        }
    }

    @Test func whichFilesOfAFolderAreRead() async throws {
        try await withBench { bench in
            let folder = "/etc/NetworkManager/system-connections/"
            for name in ["Home", "Home.nmconnection~", ".hidden", "Home.bak"] {
                try bench.add(folder + name, Self.connection.replacing("HomeNet", with: name))
            }
            try bench.add("/etc/wpa_supplicant/functions.sh", "garbage")
            try bench.add("/var/lib/iwd/Attic.psk", "[Security]\nPassphrase=12345678\n")
            let sources = Board(try SourceFiles(root: bench.root)).read()
            #expect(sources.flatMap(\.networks).map(\.ssid.text) == ["Home", "Attic"])
            #expect(sources.flatMap(\.findings).isEmpty)
            // iwd writes the file with each connection.
            #expect(sources.flatMap(\.networks).last?.lastConnected != nil)
        }
    }

    /// With --root, links lead where they lead on the mounted machine: never to a file of this one.
    @Test func linksStayInTheMountedFolder() async throws {
        func network(_ name: String) -> String { "network={\n\tssid=\"\(name)\"\n\tpsk=\"correct horse\"\n}\n" }
        try await withBench { bench in
            let manager = FileManager.default
            func link(_ path: String, to target: String) throws {
                let path = bench.root + path
                try manager.createDirectory(
                    atPath: URL(fileURLWithPath: path).deletingLastPathComponent().path,
                    withIntermediateDirectories: true)
                try manager.createSymbolicLink(atPath: path, withDestinationPath: target)
            }
            // This machine's: a file, and a folder.
            try manager.createDirectory(atPath: bench.folder + "/host", withIntermediateDirectories: true)
            try network("Host").write(toFile: bench.folder + "/host/host.conf", atomically: true, encoding: .utf8)
            try "network: {wifis: {w: {access-points: {HostPlan: {password: 12345678}}}}}\n"
                .write(toFile: bench.folder + "/host/host.yaml", atomically: true, encoding: .utf8)
            let up = String(repeating: "../", count: 40)

            try bench.add("/data/inside.conf", network("Inside"))
            try bench.add("/data/plans/inside.yaml", "wifis: {w: {access-points: {Plan: {password: 12345678}}}}\n")
            try link("/etc/wpa_supplicant/absolute.conf", to: "/data/inside.conf")
            try link("/etc/wpa_supplicant/dots.conf", to: up + "data/inside.conf")
            try link("/etc/wpa_supplicant/host.conf", to: bench.folder + "/host/host.conf")
            try link("/etc/wpa_supplicant/dots-host.conf", to: up + bench.folder.dropFirst() + "/host/host.conf")
            try link("/etc/wpa_supplicant/loop.conf", to: "loop.conf")
            try link("/etc/netplan", to: "/data/plans")
            try link("/run/netplan", to: bench.folder + "/host")
            try link("/boot/firmware", to: "../../host")
            try bench.add("/host/wpa_supplicant.conf", network("OwnHost"))
            let networks = try Board(SourceFiles(root: bench.root)).read().flatMap(\.networks)
            #expect(Set(networks.compactMap(\.ssid.text)) == ["Inside", "Plan", "OwnHost"])

            let run = await bench.run(["--dry-run"])
            #expect(!run.output.contains("HostPlan") && run.status == 0)
            #expect(run.output.contains("/loop.conf: \(String(cString: strerror(ELOOP)))\n"))
            #expect(run.output.contains("/etc/wpa_supplicant/host.conf: \(Reason.brokenLink)\n"))
            // NetworkManager hides a connection of the system by a link to /dev/null.
            try link("/etc/NetworkManager/system-connections/hidden.nmconnection", to: "/dev/null")
            #expect(await !bench.run(["--dry-run"]).output.contains("hidden.nmconnection"))
        }
    }

    @Test func whatIsLeftOutChangesTheStatusOnlyIfAsked() async throws {
        try await withBench { bench in
            try bench.add("/etc/NetworkManager/system-connections/Home.nmconnection", Self.connection)
            #expect(await bench.run(["--dry-run", "--strict"]).status == 0)
            try bench.add("/etc/wpa_supplicant.conf", Self.supplicant)
            #expect(await bench.run(["--dry-run"]).status == 0)
            #expect(await bench.run(["--dry-run", "--strict"]).status == 66)
            let run = await bench.run(["--yes", "--strict", "--json"])
            #expect(run.status == 66 && run.output.contains("\"stored\" : true"), "\(run.output)")
        }
    }

    /// A file of netplan hides those of the same name in less important folders.
    @Test func filesThatBelongTogether() async throws {
        func plan(_ settings: String) -> String { "network: {version: 2, wifis: {wlan0: {\(settings)}}}\n" }
        try await withBench { bench in
            try bench.add("/etc/netplan/50-a.yaml", plan("addresses: [10.0.0.2/8]"))
            try bench.add("/run/netplan/50-a.yaml", plan("access-points: {Home: {password: abcdefgh1}}"))
            try bench.add("/lib/netplan/90-b.yaml", plan("addresses: [10.0.0.3/8]"))
            try bench.add("/etc/network/interfaces", "iface wlan1 inet dhcp\nwpa-conf /data/wifi.conf\n")
            try bench.add("/data/wifi.conf", "network={\nssid=\"Work\"\npsk=\"abcdefgh1\"\n}\n")
            try bench.add("/var/lib/connman/wifi_0_486f_managed_psk/settings", "")
            try bench.add("/boot/dietpi-wifi.txt", "aWIFI_SSID[0]=''\n")
            let sources = Board(try SourceFiles(root: bench.root)).read()
            let networks = sources.flatMap(\.networks)
            #expect(networks.map(\.ssid.text) == ["Home", "Work"])
            #expect(networks.map { $0.address.map { "\($0.address)" } } == ["10.0.0.3", nil])
            #expect(sources.flatMap(\.findings).map(\.reason) == [.notRead(program: "ConnMan")])
        }
    }

    @Test func certificatesAreThoseOfTheMountedFolder() async throws {
        let certificate = "-----BEGIN CERTIFICATE-----\nMAMCAQA=\n-----END CERTIFICATE-----\n"
        try await withBench { bench in
            try certificate.write(toFile: bench.folder + "/host.pem", atomically: true, encoding: .utf8)
            for path in ["/../host.pem", "/etc/../../host.pem", bench.folder + "/host.pem"] {
                try bench.add(
                    "/etc/wpa_supplicant/a.conf",
                    "network={\nssid=\"Work\"\nkey_mgmt=WPA-EAP\neap=PEAP\nidentity=\"u\"\npassword=\"p\"\n"
                        + "ca_cert=\"\(path)\"\n}\n")
                let run = await bench.run(["--dry-run"])
                #expect(run.output.contains("Work: \(Reason.certificateUnreadable(path))\n"), "\(run.output)")
            }
            try bench.add("/host.pem", certificate)
            try bench.add(
                "/etc/wpa_supplicant/a.conf",
                "network={\nssid=\"Work\"\nkey_mgmt=WPA-EAP\neap=PEAP\nidentity=\"u\"\npassword=\"p\"\n"
                    + "ca_cert=\"/../host.pem\"\n}\n")
            let run = await bench.run(["--dry-run"])
            #expect(
                run.output.contains("Work     enterprise") && !run.output.contains("Not imported"), "\(run.output)")
        }
    }

    @Test func aFolderThatIsMissingIsToldAsThat() async {
        let run = await CommandRun.altnet(["import", "--root", "/nowhere/at/all", "--dry-run"])
        #expect(run.status == 1)
        let reason = String(cString: strerror(ENOENT))
        #expect(run.errors.hasPrefix("altnet: ") && run.errors.hasSuffix("/nowhere/at/all: \(reason)\n"))
    }

    @Test func nothingToFind() async throws {
        try await withBench { bench in
            let run = await bench.run(["--yes"])
            #expect(run.status == 0)
            #expect(run.output.contains("No network") && run.output.contains("nothing to store"))
            #expect(!FileManager.default.fileExists(atPath: bench.state))
        }
    }

    @Test(arguments: [["--json"], ["--dry-run", "--yes"], ["--device", "lamp.local"]])
    func isRefused(options: [String]) async {
        #expect(await CommandRun.altnet(["import"] + options).status == 64)
    }

    // MARK: With an agent

    private func withAgent(
        _ change: (inout ScriptedDevice.State) throws -> Void, _ body: (Bench, ScriptedDevice) async throws -> Void
    ) async throws {
        let device = try ScriptedDevice(change)
        try await CommandRun.serving(device) { socket in
            try await withBench(socket: socket) { bench in
                try addFiles(to: bench)
                // Makes the store, empty.
                #expect(
                    await CommandRun.altnet([
                        "provision", "--network", "Seed", "--open", "--state-dir", bench.state, "--root-key",
                        bench.folder + "/keys/root-key",
                    ]).status == 0)
                let store = try bench.open()
                try store.commit(StoredState())
                // As the agent has it open.
                try await body(bench, device)
                withExtendedLifetime(store) {}
            }
        }
    }

    @Test func aRunningAgentGetsOneListAndGoesHome() async throws {
        try await withAgent({ state in
            state.backups = BackupList(max: 3, revision: 4, networks: [])
            state.phases = [
                SwitchStatus(switchId: "s-1", phase: .joining), SwitchStatus(switchId: "s-1", phase: .committed),
            ]
        }) { bench, device in
            let run = await bench.run(["--yes"])
            #expect(run.status == 0)
            #expect(run.output.contains("HomeNet is home") && run.output.contains("1 backup"))
            guard case .updateBackups(let update) = device.commands.first,
                case .switchNetwork(let request) = device.commands.dropFirst().first
            else {
                Issue.record("\(device.commands)")
                return
            }
            #expect(update.ifRevision == 4)
            let names = update.networks.map { network -> String? in
                if case .new(let network) = network { network.ssid.text } else { nil }
            }
            #expect(names == ["HomeNet", "Cafe"])
            guard case .stored = request.target else {
                Issue.record("\(request)")
                return
            }
        }
    }

    @Test func anAgentThatCannotGoThereKeepsTheNetworks() async throws {
        try await withAgent({ state in
            state.backups = BackupList(max: 3, revision: 4, networks: [])
            state.phases = [
                SwitchStatus(switchId: "s-1", phase: .rolledBack, text: "HomeNet was not found")
            ]
        }) { bench, device in
            let run = await bench.run(["--yes"])
            #expect(run.status == 1)
            #expect(run.errors.contains("stored") && run.errors.contains(": HomeNet was not found"))
            #expect(device.backups.networks.count == 2)
        }
    }
}
