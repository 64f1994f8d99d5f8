import Glibc
import Linux
import Terminal

/// A terminal for a live screen. Uses the alternate screen without echo and cursor. Restores the terminal at the end,
/// except after SIGKILL.
struct TerminalSession: Sendable {
    enum Input: Sendable, Equatable {
        case key(UInt8)
        /// The size of the terminal has changed.
        case resized
        case suspend
        case end(Int32)
    }

    let input: Int32
    let output: Int32

    /// The standard streams; nil if they are not a terminal with cursor control.
    static var standard: TerminalSession? {
        let terminal = getenv("TERM").map { String(cString: $0) } ?? ""
        guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1, !["", "dumb"].contains(terminal) else {
            return nil
        }
        return TerminalSession(input: STDIN_FILENO, output: STDOUT_FILENO)
    }

    /// Size of the terminal, 80 by 24 if it is not reported.
    var size: WatchScreen.Size {
        var size = winsize()
        guard ioctl(output, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return WatchScreen.Size(columns: 80, rows: 24)
        }
        return WatchScreen.Size(columns: Int(size.ws_col), rows: Int(size.ws_row))
    }

    /// Prepares the terminal, runs `body` with its keys and signals, and restores the terminal.
    func run<Result>(_ body: (AsyncStream<Input>) async throws -> Result) async throws -> Result {
        var before = termios()
        guard tcgetattr(input, &before) == 0 else {
            throw CommandFailure(.deviceFailure, "the terminal cannot be set up: use --lines")
        }
        let (inputs, teller) = AsyncStream.makeStream(of: Input.self, bufferingPolicy: .bufferingOldest(64))
        let sources = try await InputSources(keys: input) { teller.yield($0) }
        teller.onTermination = { _ in sources.cancel() }
        enter(from: before)
        defer { leave(to: before) }
        return try await body(inputs)
    }

    /// Returns the terminal to the shell until the shell continues the program. Without job control, as with `ssh -t
    /// board altnet watch`, the program continues at once.
    func suspend() {
        var current = termios()
        guard tcgetattr(input, &current) == 0 else { return }
        var plain = current
        plain.c_lflag |= tcflag_t(ECHO | ICANON)
        leave(to: plain)
        stop()
        enter(from: plain)
    }

    func write(_ text: String) {
        // Ignore errors: if the terminal is gone, a signal follows.
        try? TextOutput(descriptor: output).put(text)
    }

    /// Stops the program with SIGTSTP instead of SIGSTOP. In an orphaned process group, the kernel ignores SIGTSTP: a
    /// process that stops there would never continue (setpgid(2)). The signal must be unblocked on this thread.
    private func stop() {
        var stopping = sigset_t()
        var before = sigset_t()
        var taken = sigaction()
        sigemptyset(&stopping)
        sigaddset(&stopping, SIGTSTP)
        // A zeroed action is SIG_DFL.
        var usual = sigaction()
        sigaction(SIGTSTP, &usual, &taken)
        pthread_sigmask(SIG_UNBLOCK, &stopping, &before)
        raise(SIGTSTP)
        pthread_sigmask(SIG_SETMASK, &before, nil)
        sigaction(SIGTSTP, &taken, nil)
    }

    private func enter(from settings: termios) {
        var silent = settings
        silent.c_lflag &= ~tcflag_t(ECHO | ICANON)
        tcsetattr(input, TCSADRAIN, &silent)
        write(Control.enter)
    }

    private func leave(to settings: termios) {
        var settings = settings
        write(Control.leave)
        tcsetattr(input, TCSADRAIN, &settings)
    }
}

private final class InputSources: Sendable {
    private let keys: ReadWatch
    private let signals: ProcessSignals

    @AgentLoop
    init(keys descriptor: Int32, _ handle: @escaping @Sendable (TerminalSession.Input) -> Void) throws {
        signals = try ProcessSignals([SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGWINCH])
        keys = ReadWatch(fileDescriptor: descriptor) {
            var byte: UInt8 = 0
            let count = read(descriptor, &byte, 1)
            if count == 1 { handle(.key(byte)) } else if count == 0 || errno != EINTR { handle(.end(SIGHUP)) }
        }
        signals.deliver { number in
            switch number {
            case SIGTSTP: handle(.suspend)
            case SIGWINCH: handle(.resized)
            default: handle(.end(number))
            }
        }
    }

    nonisolated func cancel() {
        signals.end()
        Task { @AgentLoop in keys.cancel() }
    }
}

/// Converts frames to terminal output. The output has only the changed lines.
struct FramePainter {
    private var shown: [String] = []
    private var size: WatchScreen.Size?

    /// - Parameter lines: lines that fit the size.
    mutating func paint(_ lines: [String], size: WatchScreen.Size) -> String {
        var output = ""
        if size != self.size {
            // A terminal moves its lines when its size changes.
            output = Control.clear
            shown = []
            self.size = size
        }
        for (index, line) in lines.enumerated() where index >= shown.count || shown[index] != line {
            // Erase first: after a full line, the cursor is still on its last character.
            output += Control.beginning(ofLine: index + 1) + Control.eraseToEndOfLine + line
        }
        if lines.count < shown.count {
            output += Control.beginning(ofLine: lines.count + 1) + Control.eraseBelow
        }
        shown = lines
        return output
    }

    /// Makes the next frame redraw all lines.
    mutating func forget() { size = nil }
}

/// Control sequences of the VT220 and its successors (ECMA-48; xterm's private modes).
enum Control {
    static let clear = "\u{1b}[2J"
    static let eraseToEndOfLine = "\u{1b}[K"
    static let eraseBelow = "\u{1b}[J"

    /// Switches to the alternate screen, without cursor and wrapping.
    static let enter = "\u{1b}[?1049h\u{1b}[?25l\u{1b}[?7l"
    static let leave = "\u{1b}[?7h\u{1b}[?25h\u{1b}[?1049l"

    static func beginning(ofLine line: Int) -> String { "\u{1b}[\(line);1H" }
}
