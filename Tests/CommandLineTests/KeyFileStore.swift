import AgentModel
import Foundation
import KeyFile

@testable import altnet

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

    /// What must not be in any output: password, derived key and root key, as text, in hexadecimal and in Base64.
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
