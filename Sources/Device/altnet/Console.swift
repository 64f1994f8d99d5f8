import AgentModel
import AppProtocol
import Linux

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

/// Where a command reads and writes, and what can be shown there. Tests put their own in its place.
struct Console: Sendable {
    var style: Style
    /// Whether a person watches, who wants to see progress.
    var isWatched: Bool
    /// What the terminal can show on which one line is redrawn to tell of progress; nil where each step has its own line.
    var spinner: Style?
    /// Where a live screen can be drawn, nil where there is no such terminal.
    var screen: TerminalSession?
    var now: @Sendable () -> Timestamp = { .now }
    /// The clock by which durations are measured.
    var uptime: @Sendable () -> Instant = { .now }
    var output: @Sendable (String) -> Void
    var errors: @Sendable (String) -> Void
    /// Asks for a password without showing it.
    var askPassword: @Sendable (_ prompt: String) throws -> Secret
    /// Asks for something that may be seen.
    var askText: @Sendable (_ prompt: String) throws -> String
    /// What a variable of the environment says.
    var environment: @Sendable (_ name: String) -> String? = { getenv($0).map { String(cString: $0) } }
    /// Reads standard input to its end, or to this many bytes.
    var input: @Sendable (_ maximum: Int) throws -> [UInt8]

    @TaskLocal static var current = Console.terminal

    func print(_ text: String) { output(text + "\n") }

    func complain(_ message: String) { errors(style.paint("altnet: ", .red) + message + "\n") }

    /// What a person has to know while the command runs, watched or not.
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

    /// The same JSON with everything invisible as `\uNNNN`: names of networks are hostile, and a terminal may be reading.
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

/// What the terminal can show.
struct Style: Sendable {
    var hasColour = false
    var isUnicode = true
    /// In columns; what does not go to a terminal is never cut.
    var width = Int.max

    enum Paint: String {
        case red = "31"
        case green = "32"
        case yellow = "33"
        case blue = "34"
        case bold = "1"
        case dim = "2"
    }

    func paint(_ text: String, _ paint: Paint?) -> String {
        guard hasColour, let paint, !text.isEmpty else { return text }
        return "\u{1b}[\(paint.rawValue)m\(text)\u{1b}[0m"
    }

    /// Whether a person reads what is written, for what goes elsewhere has no width.
    var goesToTerminal: Bool { width != .max }

    var ellipsis: String { isUnicode ? "…" : "~" }
    var arrow: String { isUnicode ? "→" : "->" }

    func heading(_ text: String) -> String { paint(text, .bold) }
}
