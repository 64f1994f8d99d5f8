import AgentModel
import AppProtocol
import AppServer
import Foundation
import Linux
import PipedPrograms
import TestTime
import Testing

@testable import altnet

@Suite struct HookChangeTests {
    private static func status(_ change: (inout NetworkStatus) -> Void = { _ in }) throws -> NetworkStatus {
        var status = try Sample.network()
        (status.state, status.uplink, status.addresses) = (.online, .wifi, ["10.0.0.2"])
        change(&status)
        return status
    }

    @Test func theStateAtTheStartIsReported() throws {
        let online = try Self.status()
        #expect(HookChange.changes(from: nil, to: online) == [.network, .address, .online])
        let offline = try Self.status {
            ($0.state, $0.uplink, $0.ssid, $0.addresses) = (.offline, nil, nil, [])
        }
        #expect(HookChange.changes(from: nil, to: offline) == [.offline])
        #expect(HookChange.changes(from: online, to: offline) == [.offline, .network, .address])
    }

    @Test(
        arguments: [
            ("signal", []), ("address", [HookChange.address]), ("order", []), ("ssid", [.network]),
            ("uplink", [.network]), ("captive", [.offline, .portal]),
        ] as [(String, [HookChange])])
    func aChangeIsNamed(what: String, changes: [HookChange]) throws {
        let before = try Self.status {
            $0.addresses = ["10.0.0.2", "fd00::2"]
            $0.connectivity = Connectivity(level: .internet, required: .internet, internet: .yes, checked: $0.since)
        }
        var after = before
        switch what {
        case "signal": after.signal = -80
        case "address": after.addresses = ["10.0.0.3", "fd00::2"]
        case "order": after.addresses.reverse()
        case "ssid": after.ssid = try SSID("Attic")
        case "uplink": after.uplink = .wired
        default:
            after.connectivity = Connectivity(
                level: .lan, required: .internet, internet: .captive, checked: before.since)
        }
        #expect(HookChange.changes(from: before, to: after) == changes)
        if what == "captive" { #expect(HookChange.changes(from: after, to: before) == [.portal, .online]) }
    }

    /// An SSID has any bytes: none of them reaches a hook but as text.
    @Test func valuesArePrintable() throws {
        let bytes: [UInt8] = [0x41, 0x0a, 0x00, 0x24, 0x28, 0xff, 0x1b]
        let status = try Self.status {
            $0.ssid = try? SSID(bytes: bytes)
            $0.addresses = ["10.0.0.2", "fd00::2\u{1b}"]
        }
        let environment = HookCall(.network, status).environment
        #expect(environment.contains("ALTNET_SSID_HEX=410a002428ff1b"))
        #expect(environment.contains("ALTNET_CHANGE=network") && environment.contains("ALTNET_ONLINE=yes"))
        #expect(environment.contains(#"ALTNET_SSID=A\x0a\x00$(\xff\x1b"#))
        #expect(environment.allSatisfy { $0.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f } })
        #expect(Set(environment.map { $0.prefix { $0 != "=" } }).count == environment.count)
    }

    @Test(arguments: [(true, "yes"), (false, "no")]) func meteredTrafficIsNamed(isMetered: Bool, value: String) throws {
        let status = try Self.status { $0.isMetered = isMetered }
        #expect(HookCall(.network, status).environment.contains("ALTNET_METERED=\(value)"))
    }
}

@Suite struct HookScheduleTests {
    private static func call(_ change: HookChange) throws -> HookCall { HookCall(change, try Sample.network()) }

    @Test func oneHookRunsAtATime() throws {
        let (first, second) = (try Self.call(.online), try Self.call(.offline))
        var schedule = HookSchedule()
        #expect(schedule.handle(.changed(first, hooks: [])).isEmpty)
        #expect(schedule.handle(.timeIsUp).isEmpty)
        #expect(schedule.handle(.changed(first, hooks: ["a", "b"])) == [.start("a", first)])
        #expect(schedule.handle(.changed(second, hooks: ["c"])).isEmpty)
        #expect(schedule.handle(.timeIsUp) == [.kill])
        #expect(schedule.handle(.ended) == [.start("b", first)])
        #expect(schedule.handle(.ended) == [.start("c", second)])
        #expect(schedule.handle(.ended).isEmpty)
        #expect(schedule.handle(.changed(first, hooks: ["a"])) == [.start("a", first)])
    }

    @Test func theOldestWaitingChangeIsDropped() throws {
        let (first, second, third) = (try Self.call(.online), try Self.call(.address), try Self.call(.network))
        var schedule = HookSchedule()
        #expect(schedule.handle(.changed(first, hooks: ["a"])) == [.start("a", first)])
        #expect(schedule.handle(.changed(second, hooks: ["a"])).isEmpty)
        for _ in 1..<HookSchedule.maximumWaiting { #expect(schedule.handle(.changed(third, hooks: ["a"])).isEmpty) }
        #expect(schedule.handle(.changed(third, hooks: ["a"])) == [.dropped(second)])
        for _ in 0..<HookSchedule.maximumWaiting { #expect(schedule.handle(.ended) == [.start("a", third)]) }
        #expect(schedule.handle(.ended).isEmpty)
    }
}

/// Real hooks, which a real `altnet hooks` runs. Needs root, whose the directory has to be.
@Suite(.enabled(if: geteuid() == 0, "needs root"), .serialized, .timeLimit(.minutes(10))) struct HookTests {
    /// A folder `d` with hooks, and `out` into which they may write.
    private final class Bench {
        let folder: String

        init(_ hooks: [String: String]) throws {
            var template = Array("/tmp/altnet-XXXXXX".utf8CString)
            mkdtemp(&template)
            folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
            chmod(folder, 0o755)
            for name in ["/d", "/out"] {
                try FileManager.default.createDirectory(atPath: folder + name, withIntermediateDirectories: false)
            }
            chmod(folder + "/out", 0o777)
            for (name, script) in hooks { try write(name, script) }
        }

        deinit { try? FileManager.default.removeItem(atPath: folder) }

        func write(_ name: String, _ script: String, mode: mode_t = 0o755) throws {
            let path = folder + "/d/" + name
            try ("#!/bin/sh\n" + script + "\n").write(toFile: path, atomically: true, encoding: .utf8)
            chmod(path, mode)
        }

        func file(_ name: String) -> String? { try? String(contentsOfFile: folder + "/out/" + name, encoding: .utf8) }

        /// Waits until a hook has written this file, which ends with a line feed.
        func written(_ name: String) async throws -> String {
            let path = folder + "/out/" + name
            let text = { @Sendable in (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }
            try await waitForFiles(in: folder + "/out", "a line in \(name)") { text().hasSuffix("\n") }
            return text()
        }

        /// The capabilities that `altnet-hooks.service` leaves the runner, as setpriv(1) names them.
        private static var capabilities: [String] {
            get throws {
                let unit = Document.root.appendingPathComponent("board/systemd/altnet-hooks.service")
                let line = try #require(
                    String(contentsOf: unit, encoding: .utf8).firstMatch(of: /CapabilityBoundingSet=(.+)/)
                ).1
                return line.split(separator: " ").map { "+" + $0.dropFirst("CAP_".count).lowercased() }
            }
        }

        /// Runs hooks while `body` runs, with the capabilities of the unit and no others.
        /// - Returns: the log.
        func run(
            _ device: ScriptedDevice, _ options: [String] = [], user: String = "nobody", _ body: () async throws -> Void
        ) async throws -> String {
            let program = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().path + "/altnet"
            let log = folder + "/log"
            try await CommandRun.serving(device) { socket in
                let set = try "-all," + Self.capabilities.joined(separator: ",")
                let hooks = try PipedProgram(
                    "setpriv",
                    [
                        "--bounding-set=\(set)", "--no-new-privs", program, "hooks", "--socket", socket, "--directory",
                        folder + "/d", "--user", user,
                    ] + options,
                    errors: .file(log, flags: O_WRONLY | O_CREAT | O_APPEND))
                defer {
                    hooks.end(SIGKILL)
                    hooks.wait()
                }
                try await body()
            }
            return try String(contentsOfFile: log, encoding: .utf8)
        }

        /// Waits until the log has this text.
        func logged(_ text: String) async throws {
            let path = folder + "/log"
            try await waitForFiles(in: folder, "a line in the log") {
                (try? String(contentsOfFile: path, encoding: .utf8))?.contains(text) == true
            }
        }
    }

    private static func device() throws -> ScriptedDevice {
        try ScriptedDevice { ($0.network.state, $0.network.uplink) = (.offline, nil) }
    }

    @Test func hooksRunInOrderAsAnotherUser() async throws {
        let record = #"echo "$(id -un) $(id -G) $1 $ALTNET_CHANGE $ALTNET_SSID $0" >>"${0%/d/*}/out/all""#
        let bench = try Bench(["20-b": record, "10-a": record])
        try bench.write("30-last", #"[ "$1" != online ] || { env | sort; echo; } >"${0%/d/*}/out/env""#)
        let device = try Self.device()
        device.network.ssid = try SSID("Café \"$(reboot)\"")
        device.network.addresses = []
        _ = try await bench.run(device) {
            try await device.isAsked(.getNetwork)
            device.network.state = .online
            device.hub.publish(.networkChanged(device.network))
            _ = try await bench.written("env")
        }
        let lines = try #require(bench.file("all")).split(separator: "\n")
        #expect(lines.map { $0.hasSuffix("/10-a") } == [true, false, true, false, true, false])
        let group = try PipedProgram.run("id", ["-G", "nobody"]).output
        let identity = "nobody " + String(decoding: group, as: UTF8.self).filter { $0 != "\n" }
        #expect(lines[4].hasPrefix("\(identity) online online Café \"$(reboot)\" "))
        let environment = try #require(bench.file("env")).split(separator: "\n")
        #expect(environment.contains("ALTNET_ONLINE=yes") && environment.contains("ALTNET_STATE=online"))
        let names = Set(environment.map { String($0.prefix { $0 != "=" }) }.filter { !$0.hasPrefix("ALTNET_") })
        // The shell adds the last three.
        #expect(names.isSubset(of: ["PATH", "LANG", "PWD", "_", "SHLVL"]))
    }

    @Test func aHookThatHangsIsKilledWithItsChildren() async throws {
        let bench = try Bench([
            "10-hang": #"sh -c 'sleep 600 & echo $! >"$0"; wait' "${0%/d/*}/out/child" & wait"#,
            "20-next": #"echo "$1" >"${0%/d/*}/out/next""#,
        ])
        let device = try ScriptedDevice {
            ($0.network.state, $0.network.ssid, $0.network.addresses) = (.online, nil, [])
        }
        device.network.uplink = nil
        let log = try await bench.run(device, ["--within", "5"]) {
            let text = try await bench.written("next")
            #expect(text == "online\n")
        }
        let child = try #require(bench.file("child").flatMap { pid_t($0.filter { $0 != "\n" }) })
        // Its number may be another process's by now, but not sleep's. Its parent may not have waited for it yet.
        let stat = (try? String(contentsOfFile: "/proc/\(child)/stat", encoding: .utf8)) ?? ""
        #expect(!stat.contains("(sleep)") || stat.contains("(sleep) Z"))
        #expect(log.contains("10-hang was killed"))
    }

    @Test func theOutputIsBounded() async throws {
        let bench = try Bench([
            "10-loud": #"printf 'a\033[2Jb\n'; head -c 1000000 /dev/zero | tr '\0' x; exit 3"#
        ])
        let device = try ScriptedDevice {
            ($0.network.state, $0.network.ssid, $0.network.addresses) = (.online, nil, [])
        }
        device.network.uplink = nil
        let log = try await bench.run(device) { try await bench.logged("status 3") }
        #expect(log.contains(#"10-loud: a\x1b[2Jb"#))
        let limit = await HookRunner.outputLimit
        #expect(log.utf8.count < limit + 1000)
    }

    @Test func onlyFilesOfRootAreHooks() async throws {
        let record = #"echo "$0" >>"${0%/d/*}/out/all""#
        let bench = try Bench(["10-a": record, "90-b": record + #"; echo >"${0%/d/*}/out/end""#])
        try bench.write("20-open", record, mode: 0o777)
        try bench.write("30-theirs", record)
        chown(bench.folder + "/d/30-theirs", 65534, 65534)
        try bench.write("40-text", record, mode: 0o644)
        try FileManager.default.createSymbolicLink(
            atPath: bench.folder + "/d/50-link", withDestinationPath: bench.folder + "/d/10-a")
        try bench.write("60-x.dpkg-dist", record)
        let device = try ScriptedDevice {
            ($0.network.state, $0.network.ssid, $0.network.addresses) = (.online, nil, [])
        }
        device.network.uplink = nil
        let log = try await bench.run(device) { _ = try await bench.written("end") }
        #expect(bench.file("all")?.split(separator: "\n").map { $0.suffix(4) } == ["10-a", "90-b"])
        for name in ["20-open", "30-theirs", "40-text", "50-link"] { #expect(log.contains("\(name) is refused")) }
        #expect(!log.contains("10-a is refused"))
    }

    @Test func aFolderThatOthersCanWriteHasNoHooks() async throws {
        let bench = try Bench(["10-a": #"echo >"${0%/d/*}/out/ran""#])
        chmod(bench.folder + "/d", 0o777)
        let device = try ScriptedDevice { $0.network.state = .online }
        _ = try await bench.run(device) { try await bench.logged("/d is missing, or") }
        #expect(bench.file("ran") == nil)
    }

    @Test(arguments: [["--user", "root"], [], ["--user", "no-such-user"]])
    func hooksNeverRunAsRoot(options: [String]) throws {
        let program = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().path + "/altnet"
        #expect(try PipedProgram.run(program, ["hooks", "--directory", "/nonexistent"] + options).status == 1)
    }
}
