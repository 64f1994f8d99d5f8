import AgentModel
import AppProtocol
import AppServer
import ArgumentParser
import Foundation
import Linux
import Synchronization
import Terminal

@testable import altnet

/// A command's output and exit status.
struct CommandRun {
    var output = ""
    var errors = ""
    var status: Int32 = 0

    /// Runs the command line against a device on a real socket.
    /// - Parameters:
    ///   - password: typed at the prompt; nil for no terminal.
    ///   - input: standard input.
    ///   - answers: typed at prompts that show them, in order; no terminal once there are no more.
    ///   - spinner: a terminal on which one line can be redrawn.
    ///   - screen: a terminal for a live screen.
    static func altnet(
        _ arguments: [String], device: ScriptedDevice, style: Style = Style(), password: String? = nil,
        input: String = "", answers: [String] = [], spinner: Style? = nil, screen: TerminalSession? = nil
    ) async throws -> CommandRun {
        try await serving(device) { socket in
            // Beside tests that need the whole processor an answer can take its time.
            await altnet(
                arguments + ["--socket", socket, "--answer-within", "600"], style: style, password: password,
                input: input, answers: answers, spinner: spinner, screen: screen)
        }
    }

    /// Has a device answer on a socket while `body` runs, which gets the socket's path.
    static func serving<Result>(_ device: ScriptedDevice, _ body: (String) async throws -> Result) async throws
        -> Result
    {
        var template = Array("/tmp/altnet-XXXXXX".utf8CString)
        mkdtemp(&template)
        let folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let server = AppServer(unix: UnixListenerSettings(path: folder + "/s"), service: device, hub: device.hub)
        try await server.start()
        let result: Result
        do {
            result = try await body(folder + "/s")
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
        return result
    }

    /// Runs the command line against the same device in the network.
    /// - Parameters:
    ///   - key: content of the key file, or nil for the device's own key.
    ///   - port: the port to connect to, or nil for the device's.
    static func remote(
        _ arguments: [String], device: ScriptedDevice, key: String? = nil, port: Int? = nil, password: String? = nil,
        input: String = ""
    ) async throws -> CommandRun {
        let folder = FileManager.default.temporaryDirectory.path + "/altnet-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let server = AppServer(
            unix: UnixListenerSettings(path: folder + "/s"),
            lan: LANListenerSettings(
                port: 0,
                credentials: AppCredentials(
                    deviceId: "bench-01", certificate: Sample.certificate, keys: OwnerKey(Sample.key))),
            service: device, hub: device.hub)
        try await server.start()
        let key = try key ?? PairingCode(Sample.device()).uri()
        _ = FileManager.default.createFile(
            atPath: folder + "/key", contents: Data(key.utf8), attributes: [.posixPermissions: 0o600])
        let address = "127.0.0.1:\(port ?? server.lanPort ?? 0)"
        let run = await altnet(
            ["--device", address, "--key-file", folder + "/key"] + arguments + ["--answer-within", "600"],
            password: password, input: input)
        await server.stop()
        return run
    }

    static func altnet(
        _ arguments: [String], style: Style = Style(), password: String? = nil, input: String = "",
        answers: [String] = [], environment: [String: String] = [:], spinner: Style? = nil,
        screen: TerminalSession? = nil, qrCodeLibrary: String = QRCode.library
    ) async -> CommandRun {
        let written = Mutex(CommandRun())
        let time = Mutex(Instant(milliseconds: 0))
        let typed = Mutex(answers)
        let console = Console(
            style: style, errorStyle: style, isWatched: true, spinner: spinner, screen: screen, now: { Sample.now },
            uptime: {
                // 2.1 s pass from one look at the clock to the next.
                time.withLock { time in
                    time = time.advanced(by: .milliseconds(2100))
                    return time
                }
            },
            output: { text in written.withLock { $0.output += text } },
            errors: { text in written.withLock { $0.errors += text } },
            askPassword: { prompt in
                written.withLock { $0.errors += prompt }
                guard let password else { throw CommandFailure(.badData, "there is no terminal") }
                return Secret(text: password)
            },
            askText: { prompt in
                written.withLock { $0.errors += prompt }
                guard let answer = typed.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else {
                    throw CommandFailure(.badData, "there is no terminal")
                }
                return answer
            },
            environment: { environment[$0] }, qrCodeLibrary: qrCodeLibrary,
            input: { _ in Array(input.utf8) })
        let status: Int32 = await Console.$current.withValue(console) {
            await Altnet.run(arguments)
        }
        return written.withLock { run in
            run.status = status
            return run
        }
    }
}

/// The text that was written, also by tasks at the same time.
final class Lines: Sendable {
    private let written = Mutex("")

    var text: String { written.withLock { $0 } }
    func append(_ text: String) { written.withLock { $0 += text } }
}

extension Console {
    /// One that shows nothing and has nothing to read.
    static func silent(_ environment: [String: String] = [:]) -> Console {
        Console(
            style: Style(), isWatched: false, output: { _ in }, errors: { _ in },
            askPassword: { _ in throw CommandFailure(.badData, "there is no terminal") },
            askText: { _ in throw CommandFailure(.badData, "there is no terminal") },
            environment: { environment[$0] }, input: { _ in [] })
    }
}

/// A program of the system that a test asks for its opinion.
struct ShellRun {
    let output: String
    let status: Int32

    /// - Returns: its output, standard error included.
    static func run(_ program: String, _ arguments: [String], input: String = "") throws -> ShellRun {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("altnet-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        // Through files: a pipe would be full before the test reads.
        let (inputFile, outputFile) = (folder.appendingPathComponent("input"), folder.appendingPathComponent("output"))
        try Data(input.utf8).write(to: inputFile)
        let pid = try ChildProcess.start(
            "env", ["--chdir=\(folder.path)", program] + arguments, environment: ChildProcess.ownEnvironment,
            input: .file(inputFile.path, flags: O_RDONLY), output: .file(outputFile.path, flags: O_WRONLY | O_CREAT))
        let status = ChildProcess.wait(for: pid)
        return ShellRun(output: String(decoding: try Data(contentsOf: outputFile), as: UTF8.self), status: status)
    }
}
