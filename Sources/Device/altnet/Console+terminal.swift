import AgentModel

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

extension Console {
    /// The process's own standard streams.
    static var terminal: Console {
        Console(
            style: .terminal(STDOUT_FILENO), isWatched: isatty(STDERR_FILENO) == 1, spinner: .spinner,
            screen: .standard,
            output: { write($0, to: STDOUT_FILENO) }, errors: { write($0, to: STDERR_FILENO) },
            askPassword: PasswordPrompt.ask, askText: LinePrompt.ask, input: readInput)
    }

    /// Ends the process where nobody reads any more, as `altnet watch | head` does.
    private static func write(_ text: String, to descriptor: Int32) {
        do { try TextOutput(descriptor: descriptor).put(text) } catch {
            exit(error.errno == EPIPE ? ExitStatus.success.rawValue : ExitStatus.deviceFailure.rawValue)
        }
    }

    private static func readInput(maximum: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(STDIN_FILENO, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw CommandFailure(.deviceFailure, "standard input cannot be read") }
            guard count > 0 else { return bytes }
            bytes += chunk.prefix(count)
            guard bytes.count <= maximum else {
                throw CommandFailure(.badData, "standard input is longer than \(maximum) bytes")
            }
        }
    }
}

extension Style {
    /// What a standard stream can show, by what it is and by the environment (https://no-color.org).
    fileprivate static func terminal(_ descriptor: Int32) -> Style {
        let isTerminal = isatty(descriptor) == 1
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].map(environment).first { !$0.isEmpty } ?? ""
        let parts = locale.uppercased().split { $0 == "." || $0 == "@" }
        return Style(
            hasColour: isTerminal && environment("NO_COLOR").isEmpty && environment("TERM") != "dumb",
            isUnicode: parts.contains("UTF-8") || parts.contains("UTF8"),
            width: isTerminal ? terminalWidth(descriptor) : .max)
    }

    /// Standard error, where a line on it can be redrawn.
    fileprivate static var spinner: Style? {
        guard isatty(STDERR_FILENO) == 1, !["", "dumb"].contains(environment("TERM")) else { return nil }
        return terminal(STDERR_FILENO)
    }

    private static func environment(_ name: String) -> String { getenv(name).map { String(cString: $0) } ?? "" }

    private static func terminalWidth(_ descriptor: Int32) -> Int {
        if let columns = Int(environment("COLUMNS")), columns > 0 { return columns }
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }
}
