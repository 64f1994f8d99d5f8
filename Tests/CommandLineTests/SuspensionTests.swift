import Foundation
import Linux
import Synchronization
import Testing

@testable import altnet

/// Control-Z in `altnet watch`, in a session of its own, as each login on a terminal has one.
@Suite(
    .enabled(if: ShellRun.path(of: "setsid") != nil, "setsid is not installed"),
    .enabled(if: Session.altnet != nil, "altnet is not built beside the tests"))
struct SuspensionTests {
    private static let suspend = "\u{1a}"

    /// Under `ssh -t board altnet watch` nobody is left who would continue it, whether the shell is still there or not.
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
