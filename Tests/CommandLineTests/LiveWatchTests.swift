import AgentModel
import AppClient
import AppProtocol
import AppServer
import Foundation
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
            while device.asked.isEmpty { await Task.yield() }
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
        let follower = WatchFollower(connect: connect)
        let client = try await connect()
        let following = Task { await follower.run(client) }
        defer { following.cancel() }
        try await follower.wait { $0.status != nil && $0.candidates.count == 1 }
        await first.stop()
        try await follower.wait { $0.connection != .connected }
        let second = try await start(ScriptedDevice())
        try await follower.wait { state in
            state.connection == .connected && state.happenings.contains { $0.text == "the agent was restarted" }
                && state.stretches.count == 3
        }
        let home = WatchState.Link.on(try SSID("HomeNet"))
        #expect(follower.state.stretches.map(\.link) == [home, .unknown, home])
        // Both agents told of the same decision.
        #expect(follower.state.happenings.filter { $0.text.contains("faded") }.count == 1)
        await second.stop()
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

extension WatchFollower {
    fileprivate func wait(until isSo: (WatchState) -> Bool) async throws {
        while !isSo(state) { try await Task.sleep(for: .milliseconds(5)) }
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
