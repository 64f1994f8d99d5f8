import AgentModel
import Foundation
import Testing

@testable import Harness

/// The limits of a run, and its knowledge of the device's surroundings. One after the other: a program that is started
/// holds open, until it runs, the script that another test writes, which cannot be run then.
@Suite(.serialized) struct BenchTests {
    @Test func whatCannotBePutBackIsNotRisked() async throws {
        try await withModel(prepare: { try $0.storeOne() }) { target, device in
            let before = device.state.withLock { device.list($0).shown }
            let attic = try SSID("Attic")
            await #expect(throws: HarnessError.wouldRisk([attic])) {
                try await Harness(target: target).run(Check.all)
            }
            let harmless = Check.selected(only: [Pattern("lines.id"), Pattern("network")], skip: [])
            let report = try await Harness(target: target).run(harmless)
            #expect(report.isConforming)
            #expect(device.state.withLock { device.list($0).shown } == before)
        }
    }

    @Test func aNetworkWithoutAKnownPasswordIsCarriedAlong() async throws {
        try await withModel(prepare: { try $0.storeOne() }) { target, device in
            let checks = Check.selected(only: [Pattern("backups.update"), Pattern("hashes")], skip: [])
            let report = try await Harness(target: target, isDestructive: true).run(checks)
            // Only the empty list takes it away, and it was said that it may go.
            #expect(report.failures == [])
        }
    }

    @Test func aListWhosePasswordsAreKnownIsPutBack() async throws {
        try await withModel(prepare: { try $0.store("BackupNet", "backup password") }) { target, device in
            let before = device.state.withLock { device.list($0).shown.dropFirst() }
            let report = try await Harness(target: target, bench: try bench(device)).run(
                checks(["backups.update.empty", "backups.get.hashes", "backups.update.maximum"]))
            #expect(report.failures == [])
            #expect(report.passed == 3)
            #expect(device.state.withLock { device.list($0).shown.dropFirst() } == before)
        }
    }

    @Test func aDeviceThatIsNotThereIsNoReport() async throws {
        await #expect(throws: HarnessError.self) {
            try await Harness(target: DeviceUnderTest(socket: "/nonexistent/socket")).run(Check.all)
        }
    }

    @Test(arguments: [
        ("events", "events.once", true), ("events", "event", false), ("events", "eventsX.once", false),
        ("*.once", "events.once", true), ("e*s.*", "events.once", true), ("*", "anything", true),
        ("a*a", "a", false), ("events.once", "events.once", true), ("once", "events.once", false),
    ])
    func aPatternMatches(_ pattern: String, _ id: String, _ isMatch: Bool) {
        #expect(Pattern(pattern).matches(id) == isMatch)
    }

    @Test func aPatternWithoutAMatchIsNamed() {
        #expect(
            Check.unmatched(["lines.id", "event", "*.once", "network.get.canUpdate"]) == [
                "event", "network.get.canUpdate",
            ])
    }

    @Test func networksAreRead() throws {
        let text = """
            {"networks":[{"name":"home","ssid":"HomeNet","password":"password","device":"192.0.2.1"},
            {"ssidHex":"ff00","device":{"host":"fe80::1","port":1234}}]}
            """
        let networks = try NetworksFile(Array(text.utf8), path: "f").networks
        #expect(networks.map(\.name) == ["home", "\\xff\\x00"])
        #expect(networks.map(\.password) == [Secret(text: "password"), nil])
        #expect(networks.map(\.address) == [.init(host: "192.0.2.1"), .init(host: "fe80::1", port: 1234)])
    }

    @Test(arguments: [
        "", "[]", "{}", #"{"networks":[{}]}"#, #"{"networks":[{"ssid":""}]}"#,
        #"{"networks":[{"ssid":"a","password":"short"}]}"#, #"{"networks":[{"ssid":"a"},{"ssid":"a"}]}"#,
        #"{"networks":[{"ssid":"a","device":{"host":"b","port":0}}]}"#,
    ])
    func whatIsNoListOfNetworksIsRefused(_ text: String) {
        #expect(throws: NetworksFileError.self) { try NetworksFile(Array(text.utf8), path: "f") }
    }

    @Test func aHookIsAskedAndTold() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "hook\(UInt32.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let script = """
            #!/bin/sh
            case $1 in
                list) printf 'one\\ntwo\\n' ;;
                on | off) echo "$1 $2 $ALTNET_NETWORKS" >> '\(folder.path)/asked' ;;
                *) exit 3 ;;
            esac
            [ "$2" != broken ]
            """
        let path = folder.appendingPathComponent("hook").path
        try script.write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
        let hook = HookProgram(path: path, networksFile: "networks.json")
        let names = try await hook.names()
        #expect(names == ["one", "two"])
        try await hook.turn("one", on: false)
        await #expect(throws: HookFailure.ended(path, ["on", "broken"], status: 256)) {
            try await hook.turn("broken", on: true)
        }
        let asked = try String(contentsOf: folder.appendingPathComponent("asked"), encoding: .utf8)
        #expect(asked == "off one networks.json\non broken networks.json\n")
        await #expect(throws: HookFailure.self) {
            try await HookProgram(path: "/nonexistent", networksFile: nil).names()
        }
    }

    @Test func aHookIsNotWaitedForForEver() async throws {
        let path = try hook("exec sleep 1000")
        defer { unlink(path) }
        let hook = HookProgram(path: path, networksFile: nil, limit: .milliseconds(50))
        await #expect(throws: HookFailure.tookTooLong(path, ["off", "one"], .milliseconds(50))) {
            try await hook.turn("one", on: false)
        }
    }

    /// It would read for ever what is never typed, or wait for what the access point's program, still running, says.
    @Test(.timeLimit(.minutes(10))) func aHookRunsAlone() async throws {
        let path = try hook("cat; sleep 20 & echo one")
        defer { unlink(path) }
        let names = try await HookProgram(path: path, networksFile: nil).names()
        #expect(names == ["one"])
    }

    @Test func aHookThatIsKilledSaysSo() async throws {
        let path = try hook("kill -KILL $$")
        defer { unlink(path) }
        let failure = await #expect(throws: HookFailure.self) {
            try await HookProgram(path: path, networksFile: nil).names()
        }
        let sentence = failure?.description ?? ""
        #expect(sentence.hasPrefix("\(path) list ") && sentence.hasSuffix("signal 9"))
    }

    private func hook(_ commands: String) throws -> String {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(
            "hook\(UInt32.random(in: 0 ... .max))"
        ).path
        try "#!/bin/sh\n\(commands)\n".write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
        return path
    }
}
