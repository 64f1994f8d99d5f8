import AgentModel
import AppProtocol
import FoundationEssentials
import Glibc
import Linux
import Terminal

/// Input and output of a command. Tests replace it.
struct Console: Sendable {
    var style: Style
    /// Style of standard error.
    var errorStyle = Style()
    /// Whether standard error is a terminal, so that a user sees progress.
    var isWatched: Bool
    /// Style of a progress line that is redrawn; nil to print one line per step.
    var spinner: Style?
    /// Terminal for a live screen; nil if there is none.
    var screen: TerminalSession?
    var now: @Sendable () -> Timestamp = { .now }
    var uptime: @Sendable () -> Instant = { .now }
    /// Clock for the pauses between redraws.
    var clock: any Clock<Duration> = ContinuousClock()
    var output: @Sendable (String) -> Void
    var errors: @Sendable (String) -> Void
    var askPassword: @Sendable (_ prompt: String) throws -> Secret
    var askText: @Sendable (_ prompt: String) throws -> String
    var environment: @Sendable (_ name: String) -> String? = { getenv($0).map { String(cString: $0) } }
    var qrCodeLibrary = QRCode.library
    /// Reads standard input to its end. Throws if it has more than `maximum` bytes.
    var input: @Sendable (_ maximum: Int) throws -> [UInt8]

    @TaskLocal static var current = Console.terminal

    /// Prints text for people, wrapped to the terminal.
    func print(_ text: String) { output(text.wrapped(to: style.width) + "\n") }

    /// Prints text for programs as it is.
    func print(verbatim text: String) { output(text + "\n") }

    func complain(_ message: String) { advise(errorStyle.paint("altnet: ", .red) + message) }

    /// Prints a hint to standard error, even if it is not a terminal.
    func advise(_ text: String) { errors(text.wrapped(to: errorStyle.width) + "\n") }

    func progress(_ text: String) {
        if isWatched { advise(text) }
    }

    /// - Parameter compact: whether to print one line, for a stream of documents.
    func print(json value: some Encodable, compact: Bool = false) {
        let encoder = JSONEncoder()
        encoder.outputFormatting =
            compact ? [.sortedKeys, .withoutEscapingSlashes] : [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
        guard let data = try? encoder.encode(value) else { return complain("the answer could not be written as JSON") }
        print(verbatim: Self.terminalSafe(json: String(decoding: data, as: UTF8.self)))
    }

    /// Escapes invisible characters as `\uNNNN`: network names are untrusted, and the output may be a terminal.
    static func terminalSafe(json: String) -> String {
        var safe = String.UnicodeScalarView()
        for scalar in json.unicodeScalars {
            if scalar.isPlain || scalar == "\n" {
                safe.append(scalar)
            } else {
                for unit in String(scalar).utf16 {
                    safe.append(
                        contentsOf: ("\\u" + Hex.string([UInt8(unit >> 8), UInt8(unit & 0xff)])).unicodeScalars)
                }
            }
        }
        return String(safe)
    }
}

extension Console {
    static var terminal: Console {
        Console(
            style: .terminal(STDOUT_FILENO), errorStyle: .terminal(STDERR_FILENO),
            isWatched: isatty(STDERR_FILENO) == 1, spinner: .spinner, screen: .standard,
            output: { write($0, to: STDOUT_FILENO) }, errors: { write($0, to: STDERR_FILENO) },
            askPassword: PasswordPrompt.ask, askText: LinePrompt.ask, input: readInput)
    }

    /// Writes the text. Exits after an error, with status 0 if the reader has gone (`altnet watch | head`).
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
