import AgentModel
import AppProtocol
import FoundationEssentials
import Glibc
import Lab
import Testing

extension Radios {
    /// The conformance suite against the agent: from an access point's network, as a phone would, and on its own
    /// socket.
    @Suite(.extended) struct HarnessTests {
        // covers: seed/backups-supported, seed/backups-update, seed/one-protocol
        @Test(arguments: [
            ["lines"], ["limits", "capabilities", "network", "history", "switch.get", "events", "scan"],
            ["backups.update"], ["backups.get", "hashes", "key"], ["backups.atomic"], ["security"], ["robustness"],
            ["switch.notFound", "switch.inProgress", "switch.alreadyAssociated", "switch.invalid"],
            ["switch.unconfirmed", "switch.wrongKey", "switch.oneOutcome"],
            ["name", "switch.race", "keys.duringSwitch"],
        ])
        func theAgentConformsAsAPhoneSeesIt(only: [String]) async throws {
            try await scenario("the harness as a phone", accessPoints: 2) { lab in
                let house = try await House(lab)
                let place = try #require(await lab.station.address)
                let run = try await HarnessRun(house, only: only)
                try await run.expectConformance { arguments in
                    try await house.home.start(
                        HarnessRun.program,
                        arguments + [
                            "--device", "\(place)", "--device-id", try await house.device.key.deviceId, "--key-file",
                            run.keyFile,
                        ], log: "harness")
                }
            }
        }

        /// Journeys to another network and back, while access points come and go.
        // covers: seed/backups-list, seed/targets-at-run-time, seed/providers-switched, seed/home
        @Test(arguments: [
            ["switch.committed", "switch.byHash", "switch.events"], ["switch.confirmed", "switch.joinOnce"],
            ["accessPoints"],
        ])
        func theAgentConformsOnItsSocket(only: [String]) async throws {
            try await scenario("the harness on the socket", accessPoints: 2) { lab in
                let house = try await House(lab)
                let run = try await HarnessRun(house, only: only)
                let socket = house.device.socket
                try await run.expectConformance { arguments in
                    try await lab.start(
                        HarnessRun.program,
                        arguments + [
                            "--socket", socket, "--device-id", try await house.device.key.deviceId, "--key-file",
                            run.keyFile,
                        ], log: "harness")
                }
            }
        }
    }
}

/// One run of `altnet-lab harness` in a house, with the house's access points behind its hook.
private struct HarnessRun {
    private let house: House
    private let only: [String]
    private let directory: String
    let keyFile: String

    /// Beside the running program.
    static let program: String = {
        let own = CommandLine.arguments[0]
        return (own.lastIndex(of: "/").map { String(own[...$0]) } ?? "") + "altnet-lab"
    }()

    init(_ house: House, only: [String]) async throws {
        self.house = house
        self.only = only
        directory = house.lab.directory
        keyFile = directory + "/harness.key"
        let key = try await house.device.key.localKey.withBytes { String(decoding: $0, as: UTF8.self) }
        try write(key, to: "harness.key")
        try write(Self.networks, to: "harness.networks")
        try write(Self.hook(in: directory), to: "harness.hook")
        guard chmod(directory + "/harness.hook", 0o700) == 0 else {
            throw LabError.system(SystemError("chmod the hook"))
        }
    }

    private func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(filePath: "\(directory)/\(name)"))
    }

    private static let networks = """
        {"networks":[{"name":"HomeNet","ssid":"HomeNet","password":"home-password"},
        {"name":"BackupNet","ssid":"BackupNet","password":"backup-password"}]}
        """

    /// Leaves what it is asked for in a file, and waits until that is gone.
    private static func hook(in directory: String) -> String {
        """
        #!/bin/sh
        if [ "$1" = list ]; then printf 'HomeNet\\nBackupNet\\n'; exit; fi
        cd '\(directory)' || exit
        printf '%s %s' "$1" "$2" > hook.new && mv hook.new hook.request
        while [ -e hook.request ]; do sleep 0.1; done

        """
    }

    /// Runs it to its end: every check passed, and some did.
    func expectConformance(_ start: ([String]) async throws -> Program) async throws {
        let report = directory + "/harness.json"
        let options = ["harness", "--networks", directory + "/harness.networks", "--hook", directory + "/harness.hook"]
        let harness = try await start(options + ["--json", report] + only.flatMap { ["--only", $0] })
        try await eventually(within: .seconds(160), "the harness to end") {
            try await serveHook()
            return !harness.isRunning
        }
        let said = try String(contentsOfFile: harness.log, encoding: .utf8)
        let result = try JSONDecoder().decode(Result.self, from: Data(contentsOf: URL(filePath: report)))
        let wrong = result.checks.filter { $0.outcome != "passed" }.map(\.id)
        #expect(result.failed == 0 && result.passed > 0, "\(said)")
        #expect(wrong.isEmpty, "not passed: \(wrong)")
    }

    private func serveHook() async throws {
        let path = directory + "/hook.request"
        guard let request = try? String(contentsOfFile: path, encoding: .utf8) else { return }
        let words = request.split(separator: " ")
        guard words.count == 2, let network = [house.home, house.backup].first(where: { "\($0.ssid)" == words[1] })
        else { return }
        if words[0] == "on" { try await network.powerOn() } else { try await network.powerOff() }
        unlink(path)
    }

    private struct Result: Decodable {
        let passed, failed: Int
        let checks: [Entry]
    }

    private struct Entry: Decodable {
        let id, outcome: String
    }
}
