import Agent
import AppServer
import Connectivity
import Foundation
import KeyFile
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
        #expect(
            run.output.split(separator: "\n") == [
                "note: ALTNET_MARGIN_DB of the environment counts, not that in FOLDER/conf:3",
                "note: ALTNET_INTERFACE: there is no interface none7 now: the agent will wait for it",
                "the settings are in order",
            ])
    }

    @Test func brokenSettingsEndWith78AndAllProblems() throws {
        let text = "ALTNET_MARGIN_DB=0\nALTNET_SOCKET_GROUP=nobody-has-this\nALTNET_KEYFILE=x\n"
        let expected = [
            "FOLDER/conf:1: ALTNET_MARGIN_DB is \"0\"; allowed: a whole number from 1 to 40 (dB)",
            "FOLDER/conf:2: ALTNET_SOCKET_GROUP is \"nobody-has-this\"; "
                + "allowed: the name or the number of a group of this machine",
            "FOLDER/conf:3: ALTNET_KEYFILE is \"x\"; allowed: a path that begins with /, "
                + "such as /var/lib/altnet/keyfile",
        ]
        let check = try run(["--check-config"], settings: text)
        #expect(check.status == 78 && check.errors.split(separator: "\n").map(String.init) == expected)
        // The agent itself says the same, into the log.
        let start = try run([], settings: text)
        #expect(start.status == 78)
        let lines = start.errors.split(separator: "\n").map(String.init)
        #expect(lines.count == 3 && zip(lines, expected).allSatisfy { $0.hasSuffix("critical " + $1) })
    }

    @Test func aMissingSettingsFileIsNamed() throws {
        let run = try run(["--check-config", "--settings", "/nonexistent/conf"])
        #expect(run.status == 78 && run.errors.contains("/nonexistent/conf cannot be read: No such file"))
    }

    @Test func aRootKeyThatIsNoneIsFoundBeforehand() throws {
        let run = try run(["--check-config"], settings: "ALTNET_STATE_DIR=FOLDER\nALTNET_ROOT_KEY=FOLDER/conf\n")
        #expect(run.status == 78)
        #expect(run.errors.hasPrefix("ALTNET_ROOT_KEY: FOLDER/conf is no root key"))
    }

    @Test func certificatesThatAreNoneAreFoundBeforehand() throws {
        let run = try run(["--check-config"], settings: "ALTNET_STATE_DIR=FOLDER\nALTNET_AUTHORITIES=FOLDER/conf\n")
        #expect(run.status == 78)
        #expect(run.errors.hasPrefix("ALTNET_AUTHORITIES: the certificates FOLDER/conf cannot be read"))
    }

    @Test(
        arguments: [
            (KeyFileError.inUse(path: "/k"), 75), (KeyFileError.wrongRootKey(path: "/k"), 78),
            (KeyFileError.system(.makeDirectory, path: "/k", errno: ENOSPC), 74),
            (KeyFileError.system(.open, path: "/k", errno: EACCES), 78),
            (AppServerError.alreadyServed(path: "/s"), 75), (AppServerError.notASocket(path: "/s"), 78),
            (AppServerError.system(attempted: "bind", path: "/s", errno: EROFS), 74),
            (TrustError.unreadable(path: "/c"), 78), (CancellationError(), 1),
        ] as [(any Error, Int32)])
    func theStatusSaysWhetherAPersonIsNeeded(error: any Error, status: Int32) {
        #expect(ExitStatus(startFailure: error).rawValue == status)
    }
}
