/// What wpa_supplicant answered to a command.
enum ControlAnswer: Sendable, Equatable {
    case ok
    case number(Int)
    case text(String)

    /// - Throws: `refused` for `FAIL` and `UNKNOWN COMMAND`, `malformedReply` for anything that is no answer to `command`.
    init(_ bytes: some Collection<UInt8>, to command: ControlCommand) throws(SupplicantError) {
        // All answers are text. What is not valid UTF-8 in it comes out as replacement characters and fits nothing.
        let text = String(decoding: bytes, as: UTF8.self)
        let line = text.last == "\n" ? text.dropLast() : text[...]
        if line.hasPrefix("FAIL") || line == "UNKNOWN COMMAND" {
            throw .refused(command: command.name, reply: PrintableLine.of(line))
        }
        switch command.answerForm {
        case .ok where line == "OK":
            self = .ok
        case .number:
            guard let number = Int(line), number >= 0 else { throw .malformedReply(command: command.name) }
            self = .number(number)
        case .text where line != "OK":
            self = .text(text)
        default:
            throw .malformedReply(command: command.name)
        }
    }
}

/// Text from outside, made safe for a terminal and a log.
enum PrintableLine {
    static let maximumLength = 200

    /// The beginning of `text`, with everything but printable ASCII replaced.
    static func of(_ text: some StringProtocol) -> String {
        String(decoding: text.utf8.prefix(maximumLength).map { (0x20...0x7e).contains($0) ? $0 : 0x3f }, as: UTF8.self)
    }
}
