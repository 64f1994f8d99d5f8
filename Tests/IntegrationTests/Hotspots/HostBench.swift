import AgentModel
import AppProtocol
import Foundation
import Hotspots
import Linux
import NIOPosix
import TestTime
import Testing

/// A real host that listens on a socket, a directory of providers, and an agent.
final class HostBench: Sendable {
    let folder: String
    let hotspots: Hotspots
    let host: pid_t
    private let statuses: AsyncStream<HotspotStatus>

    static let altnet = Bundle.main.bundleURL.deletingLastPathComponent().appendingPathComponent("altnet").path
    static var program: String {
        // Beside the test bundle, however that is run.
        let here = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().path + "/altnet"
        return FileManager.default.isExecutableFile(atPath: here) ? here : altnet
    }

    static let name: NetworkName = NetworkName(ssid: cafe.ssid, hash: nil)
    static let cafe: JoinedNetwork = {
        guard let ssid = try? SSID("Cafe") else { preconditionFailure("no SSID") }
        return JoinedNetwork(ssid: ssid, security: .open, interface: "wlan0", portal: "http://10.0.0.1/")
    }()

    /// The user of the providers, which every machine has.
    static let user = "nobody"

    /// How the host comes to its socket.
    enum Socket {
        case listening
        /// The same, with the capabilities that the unit leaves it and no others.
        case listeningAsInUnit
        /// As systemd passes it (sd_listen_fds(3)).
        case inherited

        /// The launcher's half of that: a socket as descriptor 3, and who it is for.
        fileprivate static let launcher = """
            import os, socket, sys
            server = socket.socket(socket.AF_UNIX)
            server.bind(sys.argv[1] + '.new'); server.listen(16); os.rename(sys.argv[1] + '.new', sys.argv[1])
            os.dup2(server.fileno(), 3); os.set_inheritable(3, True)
            os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid()))
            os.execv(sys.argv[2], sys.argv[2:])
            """
    }

    /// However long this machine takes to start a program: limits are for those tests that are about them.
    static var patient: HotspotSettings {
        var settings = HotspotSettings()
        settings.filterLimit = .seconds(100)
        settings.evaluateLimit = .seconds(100)
        settings.logoffLimit = .seconds(100)
        return settings
    }

    /// - Parameters:
    ///   - providers: shell scripts, by name. `$0` is in the folder with the providers, beside which is `out`, where
    ///     they may write.
    ///   - agentUser: who may connect, besides root.
    init(
        _ providers: [String: String], settings: HotspotSettings = patient, socket: Socket = .listening,
        agentUser: String? = nil
    ) async throws {
        var template = Array("/tmp/altnet-XXXXXX".utf8CString)
        mkdtemp(&template)
        folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        chmod(folder, 0o755)
        for name in ["/d", "/out"] {
            try FileManager.default.createDirectory(atPath: folder + name, withIntermediateDirectories: false)
        }
        chmod(folder + "/out", 0o777)
        for (name, script) in providers {
            let path = folder + "/d/" + name
            try ("#!/bin/sh\n" + script + "\n").write(toFile: path, atomically: true, encoding: .utf8)
            chmod(path, 0o755)
        }
        var command = [Self.program, "providers", "--directory", folder + "/d", "--user", Self.user]
        if let agentUser { command += ["--agent-user", agentUser] }
        switch socket {
        case .listening: command += ["--listen", folder + "/s"]
        case .listeningAsInUnit:
            let capabilities = try ProvidersUnit.capabilities.map { "+" + $0 }.joined(separator: ",")
            command = ["setpriv", "--bounding-set=-all,\(capabilities)", "--no-new-privs"] + command
            command += ["--listen", folder + "/s"]
        case .inherited: command = ["/usr/bin/python3", "-c", Socket.launcher, folder + "/s"] + command
        }
        host = try ChildProcess.start(
            command[0], Array(command.dropFirst()), environment: ChildProcess.ownEnvironment, output: .descriptor(2))
        try await waitForFiles(in: folder, "the host's socket") { [folder] in access(folder + "/s", F_OK) == 0 }
        let (stream, continuation) = AsyncStream<HotspotStatus>.makeStream()
        statuses = stream
        hotspots = Hotspots(
            socket: folder + "/s", on: MultiThreadedEventLoopGroup.singleton, settings: settings, now: Self.now
        ) { continuation.yield($0) }
    }

    @Sendable static func now() -> Instant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Instant(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// The first status, from the next change on, that is as wanted. The suite's time limit ends the wait.
    func status(where isWanted: @escaping @Sendable (HotspotStatus) -> Bool) async -> HotspotStatus? {
        await statuses.first(where: isWanted)
    }

    /// The line that a provider has written to a file in `out`, once it is a whole line.
    func line(of file: String) async throws -> String {
        let path = folder + "/out/" + file
        let text = { @Sendable in (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }
        try await waitForFiles(in: folder + "/out", "a line in \(file)") { text().hasSuffix("\n") }
        return String(text().dropLast())
    }

    /// Until none of these processes is there any more, not even to be waited for.
    func haveEnded(_ processes: [pid_t]) async throws {
        try await Self.look { processes.allSatisfy { kill($0, 0) != 0 && errno == ESRCH } }
    }

    /// Until the host has no child any more.
    func settled() async throws { try await Self.look { children.isEmpty } }

    /// Looks again and again, for as long as the suite's time limit allows: no event tells that another process has
    /// waited for a child of its own.
    private static func look(until isSo: () -> Bool) async throws {
        while !isSo() { try await Task.sleep(for: .milliseconds(10)) }
    }

    /// Runs a program to its end.
    /// - Returns: its exit status, and what it wrote.
    func run(_ program: String, _ arguments: [String]) async throws -> (status: Int32, text: String) {
        let output = folder + "/output"
        let process = try ChildProcess.start(
            program, arguments, environment: ChildProcess.ownEnvironment,
            output: .file(output, flags: O_WRONLY | O_CREAT | O_TRUNC))
        let status = try await onThreadOfItsOwn { ChildProcess.wait(for: process) }
        return (status, try String(contentsOfFile: output, encoding: .utf8))
    }

    private var children: String {
        (try? String(contentsOfFile: "/proc/\(host)/task/\(host)/children", encoding: .utf8)) ?? ""
    }

    func end() async throws {
        await hotspots.shutDown()
        kill(host, SIGTERM)
        let status = try await onThreadOfItsOwn { [host] in ChildProcess.wait(for: host) }
        #expect(status == 0)
        try FileManager.default.removeItem(atPath: folder)
    }
}

/// The unit of the providers' host, `board/systemd/altnet-providers.service`.
enum ProvidersUnit {
    /// The capabilities that it leaves the host, named as in capabilities(7), in small letters and without `CAP_`,
    /// which is how setpriv(1) does.
    static var capabilities: [String] {
        get throws {
            let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent(
                    "board/systemd/altnet-providers.service")
            let line = try #require(
                String(contentsOf: file, encoding: .utf8).firstMatch(of: /CapabilityBoundingSet=(.+)/)
            ).1
            return line.split(separator: " ").map { $0.dropFirst("CAP_".count).lowercased() }
        }
    }
}
