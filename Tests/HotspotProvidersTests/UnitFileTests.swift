import Foundation
import Testing

/// What systemd says of the units that come with altnet.
@Suite(.serialized, .timeLimit(.minutes(1))) struct UnitFileTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("board/systemd").path

    /// As capabilities(7) names them, in small letters and without `CAP_`, which is how setpriv(1) does.
    static var capabilities: [String] {
        get throws {
            let service = try String(contentsOfFile: folder + "/altnet-providers.service", encoding: .utf8)
            let line = try #require(service.firstMatch(of: /CapabilityBoundingSet=(.+)/)).1
            return line.split(separator: " ").map { $0.dropFirst("CAP_".count).lowercased() }
        }
    }

    private static func isThere(_ program: String) -> Bool {
        FileManager.default.isExecutableFile(atPath: "/usr/bin/" + program)
    }

    @Test(.enabled(if: geteuid() == 0 && isThere("systemd-analyze"), "needs root and systemd-analyze(1)"))
    func systemdUnderstandsTheUnits() async throws {
        let bench = try await HostBench([:])
        for unit in ["altnet-providers.socket", "altnet-providers.service"] {
            // Where altnet is here.
            let text = try String(contentsOfFile: Self.folder + "/" + unit, encoding: .utf8)
                .replacingOccurrences(of: "/usr/bin/altnet", with: HostBench.program)
            try text.write(toFile: bench.folder + "/" + unit, atomically: true, encoding: .utf8)
        }
        let units = ["socket", "service"].map { bench.folder + "/altnet-providers." + $0 }
        let (status, complaints) = try await bench.run("systemd-analyze", ["verify"] + units)
        #expect(status == 0)
        #expect(complaints == "")
        try await bench.end()
    }

    @Test(.enabled(if: geteuid() == 0 && isThere("systemd-sysusers"), "needs root and systemd-sysusers(8)"))
    func theProvidersUserIsMade() async throws {
        let bench = try await HostBench([:])
        let root = bench.folder + "/root"
        for folder in ["/etc", "/usr/lib/sysusers.d"] {
            try FileManager.default.createDirectory(atPath: root + folder, withIntermediateDirectories: true)
        }
        try FileManager.default.copyItem(
            atPath: Self.folder + "/altnet.sysusers", toPath: root + "/usr/lib/sysusers.d/altnet.conf")
        #expect(try await bench.run("systemd-sysusers", ["--root=" + root]).status == 0)
        let users = try String(contentsOfFile: root + "/etc/passwd", encoding: .utf8)
        let service = try String(contentsOfFile: Self.folder + "/altnet-providers.service", encoding: .utf8)
        // The one that the unit names, and nobody may log in as him.
        let name = try #require(service.firstMatch(of: /--user (\S+)/)).1
        let user = try #require(users.split(separator: "\n").first { $0.hasPrefix("\(name):") })
        #expect(user.hasSuffix("nologin"))
        try await bench.end()
    }
}
