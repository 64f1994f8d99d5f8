import Foundation
import KeyFile
import Testing

@testable import Agent

/// The list of files against a disk.
@Suite struct PersistentFileTests {
    /// A device whose settings put every file somewhere.
    static func settings(in folder: String) throws -> AgentSettings {
        try AgentSettings(environment: [
            "ALTNET_STATE_DIR": folder + "/state", "ALTNET_SOCKET": folder + "/run/altnet.sock",
            "ALTNET_ROOT_KEY": folder + "/keys/root-key", "ALTNET_KEYFILE_ANCHOR": folder + "/anchor/anchor",
            "ALTNET_RECORD": folder + "/record/record", "ALTNET_METRICS_FILE": folder + "/metrics/altnet.prom",
            "ALTNET_METRICS_LISTEN": folder + "/metrics/altnet.sock",
        ])
    }

    private static func files(in folder: String) -> Set<String> {
        let paths = FileManager.default.enumerator(atPath: folder)?.allObjects.compactMap { $0 as? String } ?? []
        return Set(
            paths.map { folder + "/" + $0 }.filter {
                var isFolder = ObjCBool(false)
                return FileManager.default.fileExists(atPath: $0, isDirectory: &isFolder) && !isFolder.boolValue
            })
    }

    /// Marks are known by their kind.
    private static func path(_ path: String) -> String { path.replacing(/reading\/\*$/, with: "reading/probe-0123") }

    /// Makes every file of the list, on a disk, and resets the device.
    @Test(arguments: FactoryReset.Scope.allCases) func aResetTakesWhatTheListSays(scope: FactoryReset.Scope) throws {
        let folder = FileManager.default.temporaryDirectory.path + "/altnet-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let settings = try Self.settings(in: folder)
        let kept = PersistentFile.all.filter { ![.system, .givenBack].contains($0.location) }
        for path in kept.flatMap({ $0.paths(settings) }).map(Self.path) {
            let url = URL(fileURLWithPath: path)
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(path.utf8).write(to: url)
        }
        let before = Self.files(in: folder)
        #expect(before.count == kept.flatMap { $0.paths(settings) }.count)
        let reset = FactoryReset(
            scope, state: try Folder.open(settings.stateDirectory),
            rootKey: try RootKeyFile(path: folder + "/keys/root-key"),
            store: try StoreEraser(at: settings.storePlace, hasBegun: false), settings: settings)
        try reset.begin()
        #expect(try reset.destroyRootKey())
        #expect(try reset.finish().isEmpty)
        let left = kept.filter { !$0.removedBy.contains(scope.remover) }.flatMap { $0.paths(settings) }.map(Self.path)
        #expect(Self.files(in: folder) == Set(left))
    }

    /// A file that cannot be destroyed, and opens nothing, does not keep a device from its next owner.
    @Test func whatIsOutOfReachIsTold() throws {
        let folder = FileManager.default.temporaryDirectory.path + "/altnet-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let settings = try Self.settings(in: folder)
        // A folder in its place, for root could remove any file.
        try FileManager.default.createDirectory(atPath: folder + "/record/record", withIntermediateDirectories: true)
        for name in ["state", "anchor"] {
            try FileManager.default.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
        }
        let reset = FactoryReset(
            .networks, state: try Folder.open(settings.stateDirectory), rootKey: nil,
            store: try StoreEraser(at: settings.storePlace, hasBegun: false), settings: settings)
        try reset.begin()
        #expect(try reset.finish() == [.notRegularFile(path: folder + "/record/record")])
        #expect(try FactoryReset.underWay(in: try Folder.open(settings.stateDirectory)) == nil)
    }

    /// No reset and no purge spares a key, and a reason is there wherever something stays.
    @Test func whatStaysHasAReason() {
        for file in PersistentFile.all { #expect((file.removedBy == .all) == file.reason.isEmpty, "\(file.name)") }
        for name in ["app-keys", "root-key", "keyfile"] {
            #expect(PersistentFile.all.first { $0.name == name }?.removedBy == .all)
        }
        let spared = PersistentFile.all.filter { $0.location == .state && !$0.removedBy.contains(.button) }.map(\.name)
        #expect(spared.sorted() == ["certificate", "device-id", "identity.next", "local-key"])
        #expect(PersistentFile.all.allSatisfy { $0.location != .state || $0.removedBy.contains([.reset, .purge]) })
    }
}
