import Agent
import AgentModel
import AppProtocol
import Foundation
import KeyFile
import Synchronization
import Terminal
import Testing

@testable import altnet

/// The commands on a key file that is really on disk.
@Suite struct KeyFileCommandTests {
    @Test func inspectShowsWhatIsStored() async throws {
        try await KeyFileStore.with { store in
            let run = await store.altnet("inspect")
            #expect(run.status == 0)
            let lines = run.output.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            #expect(lines[0] == store.path)
            #expect(lines[1] == "  Size        32768 bytes in 8 sectors")
            #expect(lines[2].hasPrefix("  Generation  3, written "))
            #expect(
                lines[3...].joined(separator: "\n")
                    == """
                      In use      no
                      Revision    4 of the backup list
                      Switch      s-1 to \\xffA, from Home\\x1b[2J, unfinished
                      Counter     phone 7

                    NETWORK   SSID         SECURITY   HIDDEN  PASSWORD  LAST SEEN           LAST FAILURE
                    home      Home\\x1b[2J  WPA2/WPA3          stored    -50 dBm, 4 min ago  wrong password
                    current   Home\\x1b[2J  WPA2/WPA3          stored    -50 dBm, 4 min ago  wrong password
                    backup 1  \\xffA                   yes     none      never\("               ")

                    """)
        }
    }

    @Test func inspectWorksBesideTheAgent() async throws {
        try await KeyFileStore.with { store in
            let agent = try store.open()
            let before = try store.contents()
            let run = await store.altnet("inspect")
            #expect(run.status == 0)
            #expect(run.output.contains("In use      yes"))
            #expect(try store.contents() == before)
            withExtendedLifetime(agent) {}
        }
    }

    @Test func inspectAsJSON() async throws {
        try await KeyFileStore.with { store in
            let run = await store.altnet("inspect", "--json")
            let document = try JSONDecoder().decode(Inspected.self, from: Data(run.output.utf8))
            #expect(document.keyfile.generation == 3)
            #expect(!document.keyfile.inUse)
            let home = try #require(document.state.home)
            #expect(home.ssid == "Home\u{1b}[2J")
            #expect(home.passwordStored)
            #expect(home.lastFrequency == 2412)
            #expect(home.lastFailure == "wrongKey")
            #expect(document.state.backups.map(\.ssidHex) == ["ff41"])
            #expect(document.state.backups.map(\.passwordStored) == [false])
            #expect(document.state.replayCounters == ["phone": 7])
            #expect(document.findings.isEmpty)
        }
    }

    @Test func verifyShowsEverySector() async throws {
        try await KeyFileStore.with(records: 60) { store in
            let run = await store.altnet("verify")
            #expect(run.status == 0)
            let lines = run.output.split(separator: "\n").map(String.init)
            #expect(lines[0].hasPrefix("SECTOR  STATE       ERASED  SEQUENCE  BEGUN       RECORDS  GENERATIONS"))
            #expect(lines.count == 10)
            #expect(lines[1].contains("older copy"))
            #expect(lines[2].contains("current"))
            #expect(lines[3].contains("blank"))
            #expect(lines[9].hasPrefix(store.path) && lines[9].hasSuffix("in order."))
        }
    }

    @Test func verifyTellsDamageByItsStatus() async throws {
        try await KeyFileStore.with { store in
            try store.damage(at: 200)
            let run = await store.altnet("verify")
            #expect(run.status == 65)
            #expect(run.output.contains("! sector 0: "))
            let json = await store.altnet("verify", "--json")
            #expect(json.status == 65)
            let document = try JSONDecoder().decode(Verified.self, from: Data(json.output.utf8))
            #expect(document.verdict == "damaged")
            #expect(document.authenticated)
            #expect(document.sectors.map(\.state) == ["damaged"] + Array(repeating: "blank", count: 7))
            #expect(document.sectors[0].problems.contains { $0.damage })
            #expect(await store.altnet("inspect").status == 65)
        }
    }

    @Test func verifyWithoutTheRootKey() async throws {
        try await KeyFileStore.with { store in
            let run = await store.altnet("verify", "--no-root-key")
            #expect(run.status == 0)
            #expect(run.output.contains("Only checksums"))
            try FileManager.default.removeItem(atPath: store.rootKeyPath)
            #expect(await store.altnet("verify").output == run.output)
            let inspect = await store.altnet("inspect")
            #expect(inspect.status == 65)
            #expect(inspect.errors.contains("root key in \(store.rootKeyPath)"))
        }
    }

    @Test func withoutAStore() async throws {
        try await KeyFileStore.with(records: 0) { store in
            for command in ["inspect", "verify", "wear", "rekey"] {
                let run = await store.altnet(command)
                #expect(run.status == 65)
                #expect(run.errors.contains("key file at \(store.path)"))
            }
            let json = await store.altnet("inspect", "--json")
            #expect(json.errors.isEmpty)
            #expect(json.output.contains("\"exitStatus\" : 65"))
            let left = try store.contents()
            #expect(left.isEmpty)
        }
    }

    @Test func exportAndImport() async throws {
        try await KeyFileStore.with { store in
            let file = store.folder + "/export"
            let export = await store.altnet("export", file)
            #expect(export.status == 0)
            #expect(export.output.hasPrefix(file) && export.output.contains("2 networks"))
            let attributes = try FileManager.default.attributesOfItem(atPath: file)
            #expect(attributes[.posixPermissions] as? Int == 0o600)

            let again = await store.altnet("export", file)
            #expect(again.status == 1)
            #expect(again.errors.contains("--force"))
            #expect(await store.altnet("export", file, "--force", "--json").status == 0)
            #expect(try store.contents().keys.sorted() == ["export", "keyfile", "root-key"])

            try await KeyFileStore.with(records: 0) { other in
                let run = await other.altnet("import", file)
                #expect(run.status == 0)
                #expect(run.output.contains("2 networks"))
                var expected = try KeyFileStore.state(seen: 2)
                expected.pendingSwitch = nil
                #expect(try other.open().state == expected)

                let refused = await other.altnet("import", file)
                #expect(refused.status == 1)
                #expect(refused.errors.contains("2 networks") && refused.errors.contains("--replace"))
                #expect(await other.altnet("import", file, "--replace").status == 0)
            }
        }
    }

    @Test func importChangesNothingWhenAnythingIsWrong() async throws {
        try await KeyFileStore.with { store in
            let file = store.folder + "/export"
            _ = await store.altnet("export", file)
            let before = try store.contents()
            let agent = try store.open()
            let inUse = await store.altnet("import", file, "--replace")
            #expect(inUse.status == 75)
            #expect(inUse.errors.contains("systemctl stop altnet"))
            withExtendedLifetime(agent) {}
            _ = consume agent

            let wrong = await store.altnet("import", file, "--replace", "--passphrase-stdin", input: "open sesamf\n")
            #expect(wrong.status == 65)
            #expect(wrong.errors.contains("passphrase is wrong"))
            let notOne = await store.altnet("import", store.rootKeyPath, "--replace")
            #expect(notOne.errors.contains("not an export"))
            let missing = await store.altnet("import", store.folder + "/none", "--replace")
            #expect(missing.status == 74)
            #expect(try store.contents() == before)
        }
    }

    @Test func anExportIsNothingForATerminal() async throws {
        try await KeyFileStore.with { store in
            let run = await store.altnet("export", "-", style: Style(width: 80))
            #expect(run.status == 65)
            #expect(run.errors.contains("is binary"))
        }
    }

    @Test func passphrasesMustAgreeAndBeLongEnough() async throws {
        try await KeyFileStore.with { store in
            let short = await store.altnet("export", store.folder + "/x", "--passphrase-stdin", input: "1234567\n")
            #expect(short.status == 65)
            #expect(short.errors.contains("8 bytes or more"))
            let answers = Mutex(["12345678", "12345679"])
            var console = Console.terminal
            console.askPassword = { _ in Secret(text: answers.withLock { $0.removeFirst() }) }
            let differing = #expect(throws: CommandFailure.self) {
                try KeyFilePassphrase.parse([]).read(isNew: true, console)
            }
            #expect(differing?.status == .badData && differing?.message.contains("passphrases") == true)
            let none = await CommandRun.altnet(["keyfile", "export", store.folder + "/x"] + store.options)
            #expect(none.errors.contains("use --passphrase-stdin"))
            let left = try store.contents()
            #expect(left.keys.sorted() == ["keyfile", "root-key"])
        }
    }

    @Test func rekeyMakesAnotherKey() async throws {
        try await KeyFileStore.with(records: 60) { store in
            let former = try String(contentsOfFile: store.rootKeyPath, encoding: .utf8)
            let run = await store.altnet("rekey")
            #expect(run.status == 0)
            #expect(run.output.contains("root key in \(store.rootKeyPath)"))
            #expect(try String(contentsOfFile: store.rootKeyPath, encoding: .utf8) != former)
            #expect(try store.open().state == KeyFileStore.state(seen: 59))

            let other = store.folder + "/other-key"
            let moved = await store.altnet("rekey", "--to-root-key", other)
            #expect(moved.status == 0)
            #expect(moved.output.contains("Set ALTNET_ROOT_KEY"))
            let refused = await store.altnet("inspect")
            #expect(refused.status == 65)
            #expect(refused.errors.contains("another root key"))
            let place = StorePlace(path: store.path, rootKey: .file(path: other))
            #expect(try place.open(maximumBackups: 3).state == KeyFileStore.state(seen: 59))
        }
    }

    @Test func rekeyToItselfIsRefused() async throws {
        try await KeyFileStore.with { store in
            let before = try store.contents()
            #expect(await store.altnet("rekey", "--to-root-key", store.rootKeyPath).status == 65)
            #expect(try store.contents() == before)
        }
    }

    @Test func aCredentialIsNotChangedFromHere() async throws {
        try await KeyFileStore.with { store in
            try FileManager.default.moveItem(atPath: store.rootKeyPath, toPath: store.folder + "/altnet.root-key")
            let settings = try AgentSettings(environment: [
                "ALTNET_STATE_DIR": store.folder, "CREDENTIALS_DIRECTORY": store.folder,
            ])
            #expect(settings.storePlace.rootKey == .credential(name: "altnet.root-key", directory: store.folder))
            #expect(try settings.storePlace.readState().state == KeyFileStore.state(seen: 2))
            #expect(throws: CommandFailure.self) { try KeyFileRekey.requireFile(settings.storePlace.rootKey) }
        }
    }

    @Test func wearTellsHowLong() async throws {
        try await KeyFileStore.with(records: 60) { store in
            let run = await store.altnet("wear")
            #expect(run.status == 0)
            // The store was made just now, by a clock that the tests' own knows nothing of.
            #expect(run.output.contains("clock was set"))
            let json = await store.altnet("wear", "--json", "--cycles", "1000")
            let document = try JSONDecoder().decode(Worn.self, from: Data(json.output.utf8))
            #expect(document.cycles == 1000)
            #expect(document.obstacle == "clockSetBack")
            #expect(document.sectors.map(\.eraseCount) == [1, 1] + Array(repeating: nil, count: 6))
        }
    }

    /// For every command, however it ends.
    @Test func noOutputHoldsASecret() async throws {
        try await KeyFileStore.with(records: 60) { store in
            let secrets = try store.secrets()
            let file = store.folder + "/export"
            for command in [
                ["inspect"], ["verify"], ["verify", "--no-root-key"], ["wear"], ["export", file], ["export", file],
                ["import", file], ["import", file, "--replace"], ["rekey", "--to-root-key", store.folder + "/other"],
                ["inspect"],
            ] {
                for extra in [[], ["--json"]] {
                    let run = await CommandRun.altnet(
                        ["keyfile"] + command + extra + store.options, password: KeyFileStore.passphrase)
                    for secret in secrets { #expect(!(run.output + run.errors).contains(secret)) }
                }
            }
            let export = try #require(FileManager.default.contents(atPath: file))
            for secret in secrets { #expect(export.range(of: Data(secret.utf8)) == nil) }
        }
    }

    @Test(arguments: [
        ["keyfile", "export"], ["keyfile", "import"], ["keyfile", "wear", "--cycles", "0"], ["keyfile", "nonsense"],
        ["keyfile", "export", "a", "--passphrase", "12345678"],
    ])
    func isRefused(arguments: [String]) async {
        let run = await CommandRun.altnet(arguments)
        #expect(run.status == 64)
        #expect(run.errors.contains("Usage:"))
    }

    @Test func linesOfHelpFitATerminal() {
        for line in Altnet.helpMessage(for: KeyFileCommand.self, columns: 80).split(separator: "\n") {
            #expect(line.count <= 80)
        }
    }
}

extension KeyFileStore {
    fileprivate func damage(at offset: Int) throws {
        var bytes = try #require(FileManager.default.contents(atPath: path))
        bytes[offset] ^= 0xff
        try bytes.write(to: URL(fileURLWithPath: path))
    }
}

// Output for programs.

private struct Inspected: Decodable {
    let keyfile: File
    let state: State
    let findings: [Finding]

    struct File: Decodable {
        let generation: Int
        let inUse: Bool
    }

    struct State: Decodable {
        let home: Network?
        let backups: [Network]
        let replayCounters: [String: Int]
    }

    struct Network: Decodable {
        let ssid: String?
        let ssidHex: String?
        let passwordStored: Bool
        let lastFrequency: Int?
        let lastFailure: String?
    }

    struct Finding: Decodable { let text: String }
}

private struct Verified: Decodable {
    let verdict: String
    let authenticated: Bool
    let sectors: [Sector]

    struct Sector: Decodable {
        let state: String
        let problems: [Problem]
    }

    struct Problem: Decodable { let damage: Bool }
}

private struct Worn: Decodable {
    let cycles: Int
    let obstacle: String?
    let sectors: [Sector]

    struct Sector: Decodable { let eraseCount: Int? }
}

/// A key file with its root key in a folder of its own.
struct KeyFileStore {
    let folder: String

    static let password = "very secret words"
    static let passphrase = "open sesame"
    private static let psk: [UInt8] = (0..<32).map { 0xc0 + $0 }

    var path: String { folder + "/keyfile" }
    var rootKeyPath: String { folder + "/root-key" }
    var options: [String] { ["--keyfile", path, "--root-key", rootKeyPath] }
    var place: StorePlace { StorePlace(path: path, rootKey: .file(path: rootKeyPath)) }

    /// Runs `body` with a store in which the home network was seen so many times, a record each.
    static func with(records: Int = 3, _ body: (KeyFileStore) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/altnet-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = KeyFileStore(folder: folder)
        if records > 0 {
            let keyFile = try store.open()
            for number in 0..<records { try keyFile.commit(try state(seen: UInt32(number))) }
        }
        try await body(store)
    }

    func open() throws -> KeyFile { try place.open(maximumBackups: 3) }

    func altnet(_ arguments: String..., style: Style = Style(), input: String = "") async -> CommandRun {
        await CommandRun.altnet(
            ["keyfile"] + arguments + options, style: style, password: Self.passphrase, input: input)
    }

    static func state(seen: UInt32 = 0) throws -> StoredState {
        let home = StoredNetwork(
            ssid: try SSID("Home\u{1b}[2J"), credential: .passphrase(Secret(text: password), psk: Secret(psk)),
            security: .wpa2wpa3)
        let attic = StoredNetwork(ssid: try SSID(bytes: [0xff, 0x41]), credential: .none, isHidden: true)
        let now = UInt32(clamping: Sample.now.millisecondsSince1970 / 1000)
        return StoredState(
            home: home, current: home, backups: [attic], backupsRevision: 4,
            pendingSwitch: PendingSwitch(id: "s-1", target: attic, cameFrom: home.ssid),
            statistics: [
                home.ssid: NetworkStatistics(
                    lastSeen: now - 300 + seen, lastSignal: -50, lastFrequency: Frequency(megahertz: 2412),
                    lastFailure: .wrongKey)
            ],
            replayCounters: ["phone": 7])
    }

    /// Secrets that must not be in any output: password, derived key and root key, as text, in hexadecimal and in
    /// Base64.
    func secrets() throws -> [String] {
        let root = try String(contentsOfFile: rootKeyPath, encoding: .utf8).trimmingCharacters(in: .newlines)
        let secrets = [Data(Self.password.utf8), Data(Self.psk), Data(Hex.bytes(root) ?? [])]
        return [Self.password, Self.passphrase, root]
            + secrets.flatMap { [Hex.string($0), $0.base64EncodedString()] }
    }

    func contents() throws -> [String: Data] {
        var contents: [String: Data] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            contents[name] = FileManager.default.contents(atPath: "\(folder)/\(name)")
        }
        return contents
    }
}
