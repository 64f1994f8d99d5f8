import AgentModel
import AppProtocol
import Linux
import Terminal

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif
#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The input and output of a command, and what its terminal can show. Tests put their own in its place.
struct Console: Sendable {
    var style: Style
    /// Whether a user watches, who wants to see progress.
    var isWatched: Bool
    /// The style of the terminal on which one line is redrawn to tell of progress; nil if each step has its own line.
    var spinner: Style?
    /// The terminal for a live screen; nil if there is no such terminal.
    var screen: TerminalSession?
    var now: @Sendable () -> Timestamp = { .now }
    /// The clock by which durations are measured.
    var uptime: @Sendable () -> Instant = { .now }
    /// The clock by which what is drawn again and again waits.
    var clock: any Clock<Duration> = ContinuousClock()
    var output: @Sendable (String) -> Void
    var errors: @Sendable (String) -> Void
    /// Asks for a password without showing it.
    var askPassword: @Sendable (_ prompt: String) throws -> Secret
    /// Asks for something that may be seen.
    var askText: @Sendable (_ prompt: String) throws -> String
    /// The value of an environment variable.
    var environment: @Sendable (_ name: String) -> String? = { getenv($0).map { String(cString: $0) } }
    /// Draws QR codes.
    var qrCodeLibrary = QRCode.library
    /// Reads standard input to its end, or to this many bytes.
    var input: @Sendable (_ maximum: Int) throws -> [UInt8]

    @TaskLocal static var current = Console.terminal

    func print(_ text: String) { output(text + "\n") }

    func complain(_ message: String) { errors(style.paint("altnet: ", .red) + message + "\n") }

    /// A hint that the user needs while the command runs, watched or not.
    func advise(_ text: String) { errors(text + "\n") }

    func progress(_ text: String) {
        if isWatched { errors(text + "\n") }
    }

    /// - Parameter compact: in one line, for a stream of documents.
    func print(json value: some Encodable, compact: Bool = false) {
        let encoder = JSONEncoder()
        encoder.outputFormatting =
            compact ? [.sortedKeys, .withoutEscapingSlashes] : [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
        guard let data = try? encoder.encode(value) else { return complain("the answer could not be written as JSON") }
        print(Self.terminalSafe(json: String(decoding: data, as: UTF8.self)))
    }

    /// The same JSON with everything invisible as `\uNNNN`: names of networks are hostile, and a terminal may be
    /// reading.
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
    /// The process's own standard streams.
    static var terminal: Console {
        Console(
            style: .terminal(STDOUT_FILENO), isWatched: isatty(STDERR_FILENO) == 1, spinner: .spinner,
            screen: .standard,
            output: { write($0, to: STDOUT_FILENO) }, errors: { write($0, to: STDERR_FILENO) },
            askPassword: PasswordPrompt.ask, askText: LinePrompt.ask, input: readInput)
    }

    /// Ends the process where the reader has gone, as `altnet watch | head` does.
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
