import AgentModel
import AppProtocol
import ChildProcess
import Foundation
import HotspotProviders
import NIOPosix
import Synchronization

/// A real host that listens on a socket, a directory of providers, and an agent.
final class HostBench: Sendable {
    let folder: String
    let hotspots: Hotspots
    private let host: pid_t
    private let statuses: AsyncStream<HotspotStatus>

    static let altnet = Bundle.main.bundleURL.deletingLastPathComponent().appendingPathComponent("altnet").path
    static var program: String {
        // Beside the test bundle, however that is run.
        let here = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().path + "/altnet"
        return FileManager.default.isExecutableFile(atPath: here) ? here : altnet
    }

    /// - Parameter providers: shell scripts, by name.
    init(_ providers: [String: String], settings: HotspotSettings = HotspotSettings()) async throws {
        var template = Array("/tmp/altnet-XXXXXX".utf8CString)
        mkdtemp(&template)
        folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        try FileManager.default.createDirectory(atPath: folder + "/d", withIntermediateDirectories: false)
        for (name, script) in providers {
            let path = folder + "/d/" + name
            try ("#!/bin/sh\n" + script + "\n").write(toFile: path, atomically: true, encoding: .utf8)
            chmod(path, 0o755)
        }
        host = try ChildProcess.start(
            Self.program, ["providers", "--directory", folder + "/d", "--listen", folder + "/s"],
            environment: ChildProcess.ownEnvironment, output: .descriptor(2))
        let deadline = ContinuousClock.now + .seconds(30)
        while access(folder + "/s", F_OK) != 0, ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(10))
        }
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

    /// The first status, from the next change on, that is as wanted; nil after half a minute.
    func status(where isWanted: @escaping @Sendable (HotspotStatus) -> Bool) async -> HotspotStatus? {
        await withTaskGroup(of: HotspotStatus?.self) { [statuses] group in
            group.addTask {
                for await status in statuses where isWanted(status) { return status }
                return nil
            }
            group.addTask {
                try? await Task.sleep(for: .seconds(30))
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }

    /// The processes that the host has started and what these have.
    var processes: Int {
        let children = try? String(contentsOfFile: "/proc/\(host)/task/\(host)/children", encoding: .utf8)
        return children?.split(separator: " ").count ?? 0
    }

    var residentKiB: Int {
        let text = (try? String(contentsOfFile: "/proc/\(host)/status", encoding: .utf8)) ?? ""
        return text.firstMatch(of: /VmRSS:\s+(\d+)/).flatMap { Int($0.1) } ?? 0
    }

    /// Until the host has no child any more.
    func settled() async -> Bool {
        let deadline = ContinuousClock.now + .seconds(30)
        while processes > 0, ContinuousClock.now < deadline { try? await Task.sleep(for: .milliseconds(10)) }
        return processes == 0
    }

    func end() async {
        await hotspots.shutDown()
        kill(host, SIGTERM)
        waitpid(host, nil, 0)
        try? FileManager.default.removeItem(atPath: folder)
    }
}
