import AgentModel
import AppClient
import AppProtocol
import AppServer
import Connectivity
import Foundation
import KeyFile
import PipedPrograms
import Testing

@testable import altnet

/// The agent as a process: how it ends where it cannot start, and what it says then.
@Suite struct AgentCommandTests {
    /// Beside the tests, where it was built.
    private static let program = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appendingPathComponent("altnet").path

    private func run(
        _ arguments: [String], settings: String? = nil, environment: [String: String] = [:]
    ) throws -> (status: Int32, output: String, errors: String) {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("altnet-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Self.program)
        process.arguments = ["agent"] + arguments
        if let settings {
            try settings.replacing("FOLDER", with: folder.path).write(
                to: folder.appendingPathComponent("conf"), atomically: false, encoding: .utf8)
            process.arguments?.append(contentsOf: ["--settings", folder.appendingPathComponent("conf").path])
        }
        process.environment = environment
        let (output, errors) = (Pipe(), Pipe())
        (process.standardOutput, process.standardError) = (output, errors)
        try process.run()
        let texts = [output, errors].map { pipe in
            String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
                .replacing(folder.path, with: "FOLDER")
        }
        process.waitUntilExit()
        return (process.terminationStatus, texts[0], texts[1])
    }

    @Test func settingsInOrderAreSaidToBe() throws {
        let run = try run(
            ["--check-config"],
            settings: "ALTNET_STATE_DIR=FOLDER\nALTNET_INTERFACE=none7\nALTNET_MARGIN_DB=9\n",
            environment: ["ALTNET_MARGIN_DB": "10"])
        #expect(run.status == 0 && run.errors.isEmpty)
        let lines = run.output.split(separator: "\n")
        try #require(lines.count == 3)
        #expect(lines[0].hasPrefix("note: ALTNET_MARGIN_DB ") && lines[0].hasSuffix("FOLDER/conf:3"))
        #expect(lines[1].hasPrefix("note: ALTNET_INTERFACE: ") && lines[1].contains("none7"))
        #expect(!lines[2].hasPrefix("note: "), "that they are in order")
    }

    @Test func brokenSettingsEndWith78AndAllProblems() throws {
        let text = "ALTNET_MARGIN_DB=0\nALTNET_MQTT_SPREAD_S=0\nALTNET_KEYFILE=x\n"
        let check = try run(["--check-config"], settings: text)
        let problems = check.errors.split(separator: "\n").map(String.init)
        #expect(check.status == 78 && problems.count == 3)
        for (problem, (beginning, value)) in zip(
            problems,
            [
                ("FOLDER/conf:1: ALTNET_MARGIN_DB ", "\"0\""),
                ("FOLDER/conf:2: ALTNET_MQTT_SPREAD_S ", "\"0\""),
                ("FOLDER/conf:3: ALTNET_KEYFILE ", "\"x\""),
            ])
        {
            #expect(problem.hasPrefix(beginning) && problem.contains(value))
        }
        // The agent itself says the same, into the log.
        let start = try run([], settings: text)
        #expect(start.status == 78)
        let lines = start.errors.split(separator: "\n").map(String.init)
        #expect(lines.count == 3 && zip(lines, problems).allSatisfy { $0.hasSuffix("critical " + $1) })
    }

    @Test func aMissingSettingsFileIsNamed() throws {
        let run = try run(["--check-config", "--settings", "/nonexistent/conf"])
        #expect(run.status == 78 && run.errors.contains("/nonexistent/conf "))
        #expect(run.errors.contains(String(cString: strerror(ENOENT))))
    }

    @Test func aRootKeyThatIsNoneIsFoundBeforehand() throws {
        let run = try run(["--check-config"], settings: "ALTNET_STATE_DIR=FOLDER\nALTNET_ROOT_KEY=FOLDER/conf\n")
        #expect(run.status == 78)
        #expect(run.errors.hasPrefix("ALTNET_ROOT_KEY: FOLDER/conf "))
    }

    @Test func certificatesThatAreNoneAreFoundBeforehand() throws {
        let run = try run(["--check-config"], settings: "ALTNET_STATE_DIR=FOLDER\nALTNET_AUTHORITIES=FOLDER/conf\n")
        #expect(run.status == 78)
        #expect(run.errors.hasPrefix("ALTNET_AUTHORITIES: ") && run.errors.contains("FOLDER/conf"))
    }

    @Test(
        arguments: [
            (KeyFileError.inUse(path: "/k"), 75), (KeyFileError.wrongRootKey(path: "/k"), 78),
            (KeyFileError.system(.makeDirectory, path: "/k", errno: ENOSPC), 74),
            (KeyFileError.system(.open, path: "/k", errno: EACCES), 78),
            (AppServerError.alreadyServed(path: "/s"), 75), (AppServerError.notASocket(path: "/s"), 78),
            (AppServerError.system(SystemError("bind /s", errno: EROFS)), 74),
            (TrustError.unreadable(path: "/c"), 78), (CancellationError(), 1),
        ] as [(any Error, Int32)])
    func theStatusSaysWhetherAPersonIsNeeded(error: any Error, status: Int32) {
        #expect(ExitStatus(startFailure: error).rawValue == status)
    }
}

@Suite struct AgentProcessTests {
    @Test func isKnownAsAServiceStartsIt() {
        #expect(AgentProcess(arguments: ["agent"]).map(\.settings) == .some(nil))
        #expect(
            AgentProcess(arguments: ["agent", "--settings", "/etc/altnet/altnet.conf"])?.settings
                == "/etc/altnet/altnet.conf")
    }

    @Test(arguments: [
        [], ["status"], ["agent", "--help"], ["agent", "--check-config"], ["agent", "--settings"],
        ["agent", "--settings", "--help"], ["agent", "--settings", "a", "--check-config"],
        ["--settings", "a", "agent"],
    ]) func everythingElseGoesTheUsualWay(arguments: [String]) {
        #expect(AgentProcess(arguments: arguments).map(\.settings) == nil)
    }
}

/// The agent's own process on a kernel that has no Wi-Fi: apps are answered, and told what is missing.
@Suite(
    .timeLimit(.minutes(5)), .disabled(if: access("/sys/module/cfg80211", F_OK) == 0, "this kernel has nl80211"))
struct AgentWithoutWiFiTests {
    @Test func appsAreAnswered() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/altnet-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        // The interface is there, and cannot be one of Wi-Fi.
        try "ALTNET_STATE_DIR=\(folder)\nALTNET_SOCKET=\(folder)/socket\nALTNET_SUPPLICANT_DIR=\(folder)\n"
            .appending("ALTNET_INTERFACE=lo\nALTNET_LAN_PORT=0\n")
            .write(toFile: folder + "/conf", atomically: false, encoding: .utf8)
        let manager = try NotifySocket(folder + "/notify")
        let agent = try PipedProgram(
            URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().path + "/altnet",
            ["agent", "--settings", folder + "/conf"], environment: ["NOTIFY_SOCKET=\(folder)/notify"],
            errors: .nothing)
        var told: [String] = []
        while !told.contains("READY=1") {
            let message = manager.next()
            try #require(!message.isEmpty, "\(told)")
            told += message.split(separator: "\n").map(String.init)
        }
        #expect(told.contains { $0.hasPrefix("STATUS=") && $0.contains("kernel") })

        let client = try await DeviceClient(connectingTo: .unixSocket(path: folder + "/socket"))
        let status = try await client.network()
        #expect(status.state == .offline)
        #expect(status.handover == .breakBeforeMake(.radioMissing))
        #expect(status.flags == .canUpdateBackups)
        #expect(try await client.backups().networks.isEmpty)
        let radio = try await client.diagnose().steps[0]
        #expect(radio.result == .broken && radio.found.contains("nl80211"))
        // The uplink of this machine forbids it, or else a missing part does: in this order.
        let expected: ErrorCode = status.uplink == nil ? .interfaceMissing : .cannotSwitch
        let network = NewNetwork(ssid: try SSID("Attic"), credential: .none, security: .open)
        #expect(try await refusal { try await client.switchNetwork(to: .new(network)) }.code == expected)
        let scan = try await refusal { try await client.startScan() }
        #expect(scan.code == .interfaceMissing && scan.message.contains("nl80211"))
        await client.close()
        agent.end(SIGTERM)
        #expect(agent.wait() == 0)
    }

    private func refusal(_ body: () async throws -> some Any) async throws -> ProtocolError {
        do { _ = try await body() } catch ClientError.refused(let refusal) { return refusal }
        throw ProtocolError(.internalError, "nothing was refused")
    }
}

/// The effect of signals on the agent's process, from its first moments on, and its messages to systemd.
@Suite(.timeLimit(.minutes(5))) struct AgentSignalTests {
    /// An agent in a folder of its own, with the manager that it tells how it goes.
    private final class Service {
        let manager: NotifySocket
        let program: PipedProgram
        private let folder: String

        init() throws {
            folder = FileManager.default.temporaryDirectory.path + "/altnet-" + UUID().uuidString
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try "ALTNET_STATE_DIR=\(folder)\nALTNET_SOCKET=\(folder)/socket\nALTNET_SUPPLICANT_DIR=\(folder)\n"
                .appending("ALTNET_INTERFACE=none7\nALTNET_LAN_PORT=0\n")
                .write(toFile: folder + "/conf", atomically: false, encoding: .utf8)
            manager = try NotifySocket(folder + "/notify")
            let program = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().path + "/altnet"
            self.program = try PipedProgram(
                program, ["agent", "--settings", folder + "/conf"], environment: ["NOTIFY_SOCKET=\(folder)/notify"],
                errors: .nothing)
        }

        deinit { try? FileManager.default.removeItem(atPath: folder) }

        /// Looks again and again until the signal does not end the process any more, of which no event tells.
        /// - Returns: false where the process has ended.
        func takes(_ signal: Int32) async throws -> Bool {
            for _ in 0..<6000 {
                let status = try String(contentsOfFile: "/proc/\(program.pid)/status", encoding: .utf8)
                let masks = status.matches(of: /Sig(?:Ign|Cgt):\s*([0-9a-f]+)/).compactMap { UInt64($0.1, radix: 16) }
                if masks.contains(where: { $0 & (1 << (UInt64(signal) - 1)) != 0 }) { return true }
                if status.contains(/State:\s*Z/) { return false }
                try await Task.sleep(for: .milliseconds(10))
            }
            return false
        }

        /// The next message, without the status.
        func told() -> String {
            while true {
                let told = manager.next().prefix { $0 != "\n" }
                if !told.hasPrefix("STATUS=") { return String(told) }
            }
        }
    }

    /// A reload that comes while the agent starts is no reason to end, and does not make it look ready.
    @Test func aReloadWhileItStartsWaits() async throws {
        let service = try Service()
        try #require(await service.takes(SIGHUP))
        service.program.end(SIGHUP)
        #expect(service.told() == "READY=1")
        service.program.end(SIGTERM)
        #expect(service.program.wait() == 0)
    }

    @Test func aReloadIsToldFromItsBeginningToItsEnd() async throws {
        let service = try Service()
        #expect(service.told() == "READY=1")
        service.program.end(SIGHUP)
        #expect(service.told() == "RELOADING=1")
        #expect(service.told() == "READY=1")
        service.program.end(SIGTERM)
        #expect(service.told() == "STOPPING=1")
        #expect(service.program.wait() == 0)
    }
}
