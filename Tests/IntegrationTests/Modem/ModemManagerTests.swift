import AppProtocol
import Foundation
import Linux
import PipedPrograms
import Testing

@testable import Agent

/// Root's helper (board/systemd/altnet-modem) and the agent's part, with a real bus and a simulated ModemManager.
@AgentLoop
@Suite(
    .enabled(
        if: ModemBench.isInstalled,
        "needs dbus-daemon, busctl, systemd-socket-activate and python3-dbusmock (make servers)"),
    .timeLimit(.minutes(10)))
struct ModemManagerTests {
    // covers: seed/reach-cellular
    @Test func theModemsSignalAndStateAreTold() async throws {
        let bench = try ModemBench()
        defer { bench.end() }
        try bench.startModemManager()
        try await ManualClock().run { clock in
            let news = News()
            let watch = ModemWatch(socket: bench.socket, log: { news.said.append($1) }) { news.changed() }
            watch.follow(["wwan0": ["10.0.0.2"]])
            await news.until(changes: 1)
            var expected = ModemStatus(
                interface: "wwan0", state: .connected, quality: 72, technology: .fourth,
                operator: "T\u{e9}l\u{e9}phone \"1\"")
            #expect(watch.status(carrying: "wwan0") == expected)
            #expect(watch.disconnected.isEmpty)
            // ModemManager has been told to measure.
            clock.advance(by: .seconds(30))
            await news.until(changes: 2)
            (expected.rssi, expected.rsrp) = (-67, -95)
            #expect(watch.status(carrying: "wwan0") == expected)
            try bench.set(ModemBench.bearer, "Bearer", "Connected", "b", "false")
            try bench.set(ModemBench.modem, "Modem", "State", "i", "8")
            clock.advance(by: .seconds(10))
            watch.query()
            await news.until(changes: 3)
            expected.state = .registered
            #expect(watch.status(carrying: "wwan0") == expected && watch.disconnected == ["wwan0"])
            // It is stopped: nothing is known, and nothing is an error.
            bench.stopModemManager()
            clock.advance(by: .seconds(30))
            await news.until(changes: 4)
            #expect(watch.status(carrying: "wwan0") == nil && watch.disconnected.isEmpty)
            #expect(news.said.count == 2)
            #expect(news.said.allSatisfy { $0.contains("wwan0") && $0.hasSuffix(": 4g, T\u{e9}l\u{e9}phone \"1\"") })
            #expect(news.said.map { $0.contains("(registered)") } == [false, true])
        }
    }

    /// What the helper tells is bounded, and has no number that names a person or a place.
    @Test func noNumbersOfTheModemAreTold() throws {
        let bench = try ModemBench()
        defer { bench.end() }
        #expect(try bench.ask() == "altnet-modem 1\nend\n", "without ModemManager")
        try bench.startModemManager()
        let answer = try bench.ask()
        #expect(answer.hasPrefix("altnet-modem 1\nmodem\nState i 11\n") && answer.hasSuffix("\nend\n"))
        #expect(!answer.contains("490154203237518"))
        // An operator may call itself anything.
        try bench.set(ModemBench.modem, "Modem.Modem3gpp", "OperatorName", "s", "x\nend\n\u{1b}[2J\"\\")
        let hostile = try #require(ModemReport.read(bench.ask().utf8).first)
        #expect(hostile.operatorName?.hasPrefix("x") == true)
        #expect(hostile.operatorName?.unicodeScalars.contains { $0.value < 0x20 } == false)
        // A name that is longer than an answer.
        try bench.set(
            ModemBench.modem, "Modem.Modem3gpp", "OperatorName", "s", String(repeating: "x", count: 30_000))
        let long = try bench.ask()
        #expect(long.utf8.count < ModemReport.longestAnswer)
        #expect(throws: ModemReportError.self) { try ModemReport.read(long.utf8) }
    }
}

/// What a watch has told.
@AgentLoop private final class News {
    var said: [String] = []
    private var changes = 0
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func changed() {
        changes += 1
        waiting.forEach { $0.resume() }
        waiting = []
    }

    func until(changes count: Int) async {
        while changes < count { await withCheckedContinuation { waiting.append($0) } }
    }
}

/// A bus of the test's own, systemd's activation of the helper, and a ModemManager on it.
private final class ModemBench {
    static let modem = "/org/freedesktop/ModemManager1/Modem/0"
    static let bearer = "/org/freedesktop/ModemManager1/Bearer/3"
    static let isInstalled =
        ["dbus-daemon", "busctl", "systemd-socket-activate", "python3"].allSatisfy {
            FileManager.default.isExecutableFile(atPath: "/usr/bin/" + $0)
        } && FileManager.default.fileExists(atPath: "/usr/lib/python3/dist-packages/dbusmock")

    private let folder: String
    private let address: String
    private var bus: PipedProgram?
    private var activator: PipedProgram?
    private var modemManager: PipedProgram?
    var socket: String { folder + "/modem.sock" }
    private static let project = "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
    private static let helper = project + "/board/systemd/altnet-modem"

    init() throws {
        folder = NSTemporaryDirectory() + "altnet-modem-\(UUID().uuidString.prefix(8))"
        address = "unix:path=\(folder)/bus"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try """
        <busconfig>
          <type>system</type>
          <listen>\(address)</listen>
          <auth>EXTERNAL</auth>
          <policy context="default">
            <allow send_destination="*"/> <allow receive_sender="*"/> <allow own="*"/>
          </policy>
        </busconfig>
        """.write(toFile: folder + "/bus.conf", atomically: true, encoding: .utf8)
        bus = try start(
            "dbus-daemon", ["--config-file=\(folder)/bus.conf", "--nofork", "--nopidfile", "--print-address=1"])
        activator = try start(
            "systemd-socket-activate",
            [
                "--listen=" + socket, "--accept", "--inetd", "-E", "DBUS_SYSTEM_BUS_ADDRESS=" + address, "sh",
                Self.helper,
            ])
    }

    func end() {
        for process in [modemManager, activator, bus].compactMap(\.self) {
            process.end()
            process.wait()
        }
        try? FileManager.default.removeItem(atPath: folder)
    }

    func startModemManager() throws {
        modemManager = try start("python3", [Self.project + "/Tests/Servers/modem-manager"])
    }

    func stopModemManager() {
        modemManager?.end()
        modemManager?.wait()
        modemManager = nil
    }

    func set(_ object: String, _ interface: String, _ property: String, _ type: String, _ value: String) throws {
        let name = "org.freedesktop.ModemManager1"
        #expect(
            try run("busctl", ["set-property", name, object, "\(name).\(interface)", property, type, value]).status == 0
        )
    }

    /// The helper's answer, straight from it.
    func ask() throws -> String { try run("sh", [Self.helper]).output }

    private var environment: [String] { ["DBUS_SYSTEM_BUS_ADDRESS=" + address, "PATH=/usr/bin:/bin"] }

    /// Returns once the program has said something, which each says when it is ready.
    private func start(_ program: String, _ arguments: [String]) throws -> PipedProgram {
        let program = try PipedProgram("/usr/bin/" + program, arguments, environment: environment, errors: nil)
        try #require(!program.output.availableData.isEmpty, "it has ended")
        return program
    }

    private func run(_ program: String, _ arguments: [String]) throws -> (status: Int32, output: String) {
        let (status, output) = try PipedProgram.run("env", environment + [program] + arguments)
        return (status, String(decoding: output, as: UTF8.self))
    }
}
