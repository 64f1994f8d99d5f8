import AgentModel
import AppClient
import AppProtocol
import AppServer
import Foundation
import Linux
import PipedPrograms
import Synchronization
import TestTime
import Testing

@testable import altnet

/// `altnet watch` on a terminal of its own, against a device on a real socket.
@Suite struct LiveWatchTests {
    @Test(.timeLimit(.minutes(5))) func drawsUntilQAndLeavesTheTerminalAsItWas() async throws {
        let terminal = try PseudoTerminal()
        terminal.resize(columns: 60, rows: 16)
        let device = try ScriptedDevice()
        async let watching = CommandRun.altnet(["watch"], device: device, screen: terminal.session)
        let first = await terminal.shown(until: "C HomeNet -52")
        #expect(first.hasPrefix(Control.enter))
        #expect(first.contains("Online on HomeNet"))
        #expect(!terminal.echoes)
        device.hub.publish(.gap(Gap(reason: .expired, missed: 7)))
        #expect(await terminal.shown(until: "7 events were missed").contains(Control.clear) == false)
        terminal.resize(columns: 26, rows: 6)
        #expect(await terminal.shown(until: "7 events were m…").contains(Control.clear))
        terminal.press("xq")
        let run = try await watching
        #expect(run.status == 0)
        #expect(run.output.isEmpty)
        #expect(terminal.echoes)
        #expect(await terminal.shown(until: Control.leave).hasSuffix(Control.leave))
    }

    @Test func linesAreStillToBeHad() async throws {
        let terminal = try PseudoTerminal()
        for arguments in [["--lines", "--count", "1"], ["--count", "1"]] {
            let device = try ScriptedDevice()
            async let watching = CommandRun.altnet(["watch"] + arguments, device: device, screen: terminal.session)
            // It asks once it has subscribed.
            try await device.isAsked(.getNetwork)
            device.hub.publish(.backupsChanged(device.backups))
            #expect(try await watching.output.contains("backups   2 of 3 stored"))
        }
    }

    /// The agent is stopped and another one started: it is said, joined again, and what was missed is not made up.
    @Test(.timeLimit(.minutes(5))) func followsARestartedAgent() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("altnet-\(UUID())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        func start(_ device: ScriptedDevice) async throws -> AppServer {
            let server = AppServer(unix: UnixListenerSettings(path: folder + "/s"), service: device, hub: device.hub)
            try await server.start()
            return server
        }
        let connect = { @Sendable in
            try await DeviceClient(connectingTo: .unixSocket(path: folder + "/s"), timeout: .seconds(60))
        }
        let first = try await start(ScriptedDevice())
        let clock = SteppedClock()
        let seen = Observed(WatchState())
        let follower = WatchFollower(clock: clock, onChange: { state in seen.change { $0 = state } }, connect: connect)
        let client = try await connect()
        let following = Task { await follower.run(client) }
        defer { following.cancel() }
        try await seen.wait("the device's state") { $0.status != nil && $0.candidates.count == 1 }
        await first.stop()
        try await seen.wait("the loss") { $0.connection != .connected }
        try await clock.sleeps(for: .milliseconds(250))
        let second = try await start(ScriptedDevice())
        clock.advance(by: .milliseconds(250))
        try await seen.wait("the other agent's state") { state in
            state.connection == .connected && state.happenings.contains { $0.text.hasSuffix("was restarted") }
                && state.stretches.count == 3
        }
        let home = WatchState.Link.on(try SSID("HomeNet"))
        #expect(follower.state.stretches.map(\.link) == [home, .unknown, home])
        // Both agents told of the same decision.
        #expect(follower.state.happenings.filter { $0.text.contains("faded") }.count == 1)
        await second.stop()
    }

    /// The chart begins with the events that the device keeps. Those that it no longer has are not missed.
    @Test(.timeLimit(.minutes(5))) func beginsWithWhatTheDeviceKeeps() async throws {
        let device = try ScriptedDevice()
        for _ in 0..<300 { device.hub.publish(.backupsChanged(device.backups)) }
        let then = Timestamp(millisecondsSince1970: Timestamp.now.millisecondsSince1970 - 60_000)
        device.hub.publish(.networkChanged(try Sample.network()), at: then)
        device.hub.publish(.signal(SignalReading(signal: -66)), at: then)
        try await CommandRun.serving(device) { socket in
            let connect = { @Sendable in
                try await DeviceClient(connectingTo: .unixSocket(path: socket), timeout: .seconds(60))
            }
            let seen = Observed(WatchState())
            let follower = WatchFollower(
                clock: SteppedClock(), onChange: { state in seen.change { $0 = state } }, connect: connect)
            let client = try await connect()
            let following = Task { await follower.run(client) }
            defer { following.cancel() }
            try await seen.wait("the device's state") { $0.candidates.count == 1 }
            let samples = follower.state.link.samples
            #expect(samples.map(\.signal) == [-52, -66, -52])
            #expect(samples.count == 3 && samples[2].time - samples[1].time >= .seconds(59))
            #expect(!follower.state.happenings.contains { $0.text.contains("missed") })
        }
    }

    @Test func onlyWhatHasChangedIsDrawn() {
        let size = WatchScreen.Size(columns: 10, rows: 3)
        var painter = FramePainter()
        #expect(painter.paint(["a", "b"], size: size) == "\u{1b}[2J\u{1b}[1;1H\u{1b}[Ka\u{1b}[2;1H\u{1b}[Kb")
        #expect(painter.paint(["a", "c"], size: size) == "\u{1b}[2;1H\u{1b}[Kc")
        #expect(painter.paint(["a", "c"], size: size) == "")
        #expect(painter.paint(["a"], size: size) == "\u{1b}[2;1H\u{1b}[J")
        #expect(painter.paint(["a"], size: WatchScreen.Size(columns: 9, rows: 3)) == "\u{1b}[2J\u{1b}[1;1H\u{1b}[Ka")
        painter.forget()
        #expect(painter.paint(["a"], size: size) == "\u{1b}[2J\u{1b}[1;1H\u{1b}[Ka")
    }
}

extension PseudoTerminal {
    fileprivate var session: TerminalSession { TerminalSession(input: slave, output: slave) }

    /// Everything up to a text that has to come. It is waited for on a thread of its own: those of Swift's pool are
    /// few, and what is waited for needs them.
    func shown(until text: String) async -> String {
        let shown = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(returning: self.shown { String(decoding: $0, as: UTF8.self).contains(text) })
            }
        }
        #expect(shown.contains(text))
        return shown
    }
}

/// Control-Z in `altnet watch`, in a session of its own, as each login on a terminal has one.
@Suite(
    .enabled(if: PipedProgram.path(of: "setsid") != nil, "setsid is not installed"),
    .enabled(if: Session.altnet != nil, "altnet is not built beside the tests"))
struct SuspensionTests {
    private static let suspend = "\u{1a}"

    /// Under `ssh -t board altnet watch` no shell can continue it.
    @Test(.timeLimit(.minutes(5)), arguments: [[], ["bash", "-c", "\"$0\" \"$@\"; exit"]])
    func withoutAShellThatContinuesItGoesOn(shell: [String]) async throws {
        let terminal = try PseudoTerminal()
        try await CommandRun.serving(ScriptedDevice()) { socket in
            let session = try Session(shell + [Session.altnet ?? "", "watch", "--socket", socket], on: terminal)
            defer { session.end() }
            #expect(await terminal.shown(until: "Online on HomeNet").contains(Control.enter))
            terminal.press(Self.suspend)
            let back = await terminal.shown(until: "Online on HomeNet")
            #expect(back.contains(Control.leave))
            #expect(back.contains(Control.enter))
            terminal.press("q")
            _ = await terminal.shown(until: Control.leave)
            #expect(await session.status() == 0)
        }
    }

    @Test(.timeLimit(.minutes(5))) func aShellHasTheTerminalUntilItContinuesIt() async throws {
        let terminal = try PseudoTerminal()
        try await CommandRun.serving(ScriptedDevice()) { socket in
            let script = "set -m; \"$0\" \"$@\"; echo stopped with $?; read -r _; fg; echo ended with $?"
            let session = try Session(
                ["bash", "-c", script, Session.altnet ?? "", "watch", "--socket", socket], on: terminal)
            defer { session.end() }
            _ = await terminal.shown(until: "Online on HomeNet")
            #expect(!terminal.echoes)
            terminal.press(Self.suspend)
            // 128 and SIGTSTP.
            let stopped = await terminal.shown(until: "stopped with 148")
            #expect(stopped.contains(Control.leave))
            #expect(!stopped.contains(Control.enter))
            #expect(terminal.echoes)
            terminal.press("\n")
            #expect(await terminal.shown(until: "Online on HomeNet").contains(Control.enter))
            terminal.press("q")
            #expect(await terminal.shown(until: "ended with 0").contains(Control.leave))
            #expect(await session.status() == 0)
        }
    }
}

/// A program that leads a session, whose terminal is the test's.
private final class Session: Sendable {
    /// The program that was built together with the tests.
    static let altnet: String? = {
        let folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        let path = folder.appendingPathComponent("altnet").path
        return FileManager.default.isExecutableFile(atPath: path) ? path : nil
    }()

    private let process: pid_t
    private let hasEnded = Mutex(false)

    init(_ command: [String], on terminal: PseudoTerminal) throws {
        terminal.resize(columns: 60, rows: 16)
        process = try ChildProcess.start(
            "setsid", ["--ctty", "--wait"] + command,
            environment: ["TERM=xterm", "LANG=C.UTF-8", "PATH=/usr/bin:/bin"], input: .descriptor(terminal.slave),
            output: .descriptor(terminal.slave))
    }

    func status() async -> Int32 {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { [self] in
                let status = ChildProcess.wait(for: process)
                hasEnded.withLock { $0 = true }
                continuation.resume(returning: status)
            }
        }
    }

    func end() {
        hasEnded.withLock { hasEnded in
            if !hasEnded { kill(process, SIGTERM) }
        }
    }
}
