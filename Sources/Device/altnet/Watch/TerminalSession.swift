import Glibc
import Linux
import Terminal

/// A terminal while a live screen has it: its second screen, without echo and without a cursor. It is as it was once
/// this has ended, however it ends, unless the process is killed outright.
struct TerminalSession: Sendable {
    enum Input: Sendable, Equatable {
        case key(UInt8)
        /// Another size, or a return from the shell.
        case resized
        case suspend
        /// The signal by which this program shall end.
        case end(Int32)
    }

    let input: Int32
    let output: Int32

    /// The standard streams, where they are a terminal that can be drawn on.
    static var standard: TerminalSession? {
        let terminal = getenv("TERM").map { String(cString: $0) } ?? ""
        guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1, !["", "dumb"].contains(terminal) else {
            return nil
        }
        return TerminalSession(input: STDIN_FILENO, output: STDOUT_FILENO)
    }

    /// 80 by 24 where the terminal does not say.
    var size: WatchScreen.Size {
        var size = winsize()
        guard ioctl(output, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return WatchScreen.Size(columns: 80, rows: 24)
        }
        return WatchScreen.Size(columns: Int(size.ws_col), rows: Int(size.ws_row))
    }

    /// Takes the terminal over while `body` runs, which gets its keys and the signals that concern it.
    func run<Result>(_ body: (AsyncStream<Input>) async throws -> Result) async throws -> Result {
        var before = termios()
        guard tcgetattr(input, &before) == 0 else { throw CommandFailure(.deviceFailure, "the terminal cannot be set") }
        let (inputs, teller) = AsyncStream.makeStream(of: Input.self, bufferingPolicy: .bufferingOldest(64))
        let sources = try await InputSources(keys: input) { teller.yield($0) }
        teller.onTermination = { _ in sources.cancel() }
        enter(from: before)
        defer { leave(to: before) }
        return try await body(inputs)
    }

    /// Gives the terminal back to the shell until it says to go on. Without a shell that could, as under
    /// `ssh -t board altnet watch`, it goes on at once.
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
        // A failure means that the terminal is gone; the signal for that is on its way.
        try? TextOutput(descriptor: output).put(text)
    }

    /// By the signal that a terminal stops a program with, not by SIGSTOP: the kernel ignores it where no process is
    /// left that would continue this one (an orphaned process group; setpgid(2)). It has to be unblocked on this
    /// thread.
    private func stop() {
        var stopping = sigset_t()
        var before = sigset_t()
        var taken = sigaction()
        sigemptyset(&stopping)
        sigaddset(&stopping, SIGTSTP)
        // Zeros are SIG_DFL.
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

/// The events that a terminal session listens to.
private final class InputSources: Sendable {
    private let keys: ReadWatch
    private let signals: ProcessSignals

    @AgentLoop
    init(keys descriptor: Int32, _ take: @escaping @Sendable (TerminalSession.Input) -> Void) throws {
        signals = try ProcessSignals([SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGWINCH])
        keys = ReadWatch(fileDescriptor: descriptor) {
            var byte: UInt8 = 0
            let count = read(descriptor, &byte, 1)
            if count == 1 { take(.key(byte)) } else if count == 0 || errno != EINTR { take(.end(SIGHUP)) }
        }
        signals.deliver { number in
            switch number {
            case SIGTSTP: take(.suspend)
            case SIGWINCH: take(.resized)
            default: take(.end(number))
            }
        }
    }

    nonisolated func cancel() {
        signals.end()
        Task { @AgentLoop in keys.cancel() }
    }
}

/// Turns frames into what a terminal has to be sent for them: only the lines that have changed.
struct FramePainter {
    private var shown: [String] = []
    private var size: WatchScreen.Size?

    /// - Parameter lines: at most as many as the terminal has, none wider than it is.
    mutating func paint(_ lines: [String], size: WatchScreen.Size) -> String {
        var output = ""
        if size != self.size {
            // A terminal that was resized has moved its lines about.
            output = Control.clear
            shown = []
            self.size = size
        }
        for (index, line) in lines.enumerated() where index >= shown.count || shown[index] != line {
            // Erased first: after a line that fills the terminal, the cursor stands on its last character.
            output += Control.beginning(ofLine: index + 1) + Control.eraseToEndOfLine + line
        }
        if lines.count < shown.count {
            output += Control.beginning(ofLine: lines.count + 1) + Control.eraseBelow
        }
        shown = lines
        return output
    }

    /// Has the next frame drawn as a whole.
    mutating func forget() { size = nil }
}

/// Control sequences that every terminal since the VT220 and its imitators understand (ECMA-48; xterm's private modes).
enum Control {
    static let clear = "\u{1b}[2J"
    static let eraseToEndOfLine = "\u{1b}[K"
    static let eraseBelow = "\u{1b}[J"

    /// The second screen, without a cursor, and without wrapping: no line can move the others.
    static let enter = "\u{1b}[?1049h\u{1b}[?25l\u{1b}[?7l"
    static let leave = "\u{1b}[?7h\u{1b}[?25h\u{1b}[?1049l"

    static func beginning(ofLine line: Int) -> String { "\u{1b}[\(line);1H" }
}
