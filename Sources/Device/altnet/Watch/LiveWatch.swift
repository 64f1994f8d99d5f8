import AgentModel
import AppClient
import ArgumentParser
import Linux

/// `altnet watch` on a terminal: redraws when something has changed, at most four times a second, until somebody ends
/// it.
struct LiveWatch {
    private static let interval = Duration.milliseconds(250)

    let terminal: TerminalSession
    let console: Console
    let follower: WatchFollower

    /// - Throws: `ExitCode` where a signal ended it.
    func run(_ device: DeviceClient) async throws {
        let signal = try await terminal.run { inputs in
            try await withThrowingTaskGroup(of: Int32?.self) { group in
                group.addTask {
                    await follower.run(device)
                    return nil
                }
                group.addTask { await show(inputs) }
                defer { group.cancelAll() }
                return try await group.next() ?? nil
            }
        }
        if let signal { throw ExitCode(128 + signal) }
    }

    /// - Returns: the signal that ended it, nil where a person did.
    private func show(_ inputs: AsyncStream<TerminalSession.Input>) async -> Int32? {
        let screen = Screen(terminal: terminal, console: console, follower: follower)
        let ticking = Task {
            while !Task.isCancelled {
                await screen.draw()
                try? await Task.sleep(for: Self.interval)
            }
        }
        defer { ticking.cancel() }
        for await input in inputs {
            switch input {
            case .key(UInt8(ascii: "q")), .key(UInt8(ascii: "Q")): return nil
            case .key: break
            case .resized: await screen.draw()
            case .suspend: await screen.suspend()
            case .end(let signal): return signal
            }
        }
        return nil
    }
}

/// What is on the terminal now.
private actor Screen {
    private let terminal: TerminalSession
    private let console: Console
    private let follower: WatchFollower
    private var painter = FramePainter()

    init(terminal: TerminalSession, console: Console, follower: WatchFollower) {
        self.terminal = terminal
        self.console = console
        self.follower = follower
    }

    func draw() {
        let size = terminal.size
        let screen = WatchScreen(
            state: follower.state, now: .now, time: console.now(), size: size, style: console.style)
        terminal.write(painter.paint(screen.lines(), size: size))
    }

    func suspend() {
        terminal.suspend()
        painter.forget()
        draw()
    }
}
