import AgentModel
import JSONValues
import Synchronization

/// Messages of one check for the report: the last lines, shortened and without passwords.
final class Transcript: Sendable {
    private struct State {
        var lines: [String] = []
        var left = 0
        var secrets: [[UInt8]] = []
        var codes: Set<String> = []
        var leak: String?
    }

    private static let capacity = 24
    private static let lineLength = 400
    private let state = Mutex(State())

    /// Last lines, oldest first. If lines are omitted, the first entry has their number.
    var lines: [String] {
        state.withLock { ($0.left > 0 ? ["(\($0.left) lines before)"] : []) + $0.lines }
    }

    var codes: Set<String> { state.withLock { $0.codes } }

    /// Redacted line in which the device sent a password; nil if it sent none.
    var leak: String? { state.withLock { $0.leak } }

    /// Hides this text from now on. Records a leak if the device sends it.
    func keepSecret(_ text: String) { state.withLock { $0.secrets.append(Array(text.utf8)) } }

    /// Takes over the secrets of another transcript, and drops a recorded leak.
    func keepSecrets(of other: Transcript) {
        let secrets = other.state.withLock { $0.secrets }
        state.withLock { state in
            state.secrets = secrets
            state.leak = nil
        }
    }

    func remark(_ text: String) { append("-- " + text) }

    func sent(_ bytes: [UInt8]) { append("-> " + shown(bytes)) }

    func received(_ line: [UInt8]) {
        let text = "<- " + shown(line)
        let code = JSONValue(line: line)?["error"]?["code"]?.text
        state.withLock { state in
            if let code { state.codes.insert(code) }
            if state.leak == nil, state.secrets.contains(where: line.contains) { state.leak = text }
        }
        append(text)
    }

    private func append(_ text: String) {
        state.withLock { state in
            state.lines.append(text)
            guard state.lines.count > Self.capacity else { return }
            state.lines.removeFirst()
            state.left += 1
        }
    }

    private func shown(_ bytes: [UInt8]) -> String {
        let secrets = state.withLock { $0.secrets }
        var line = Redaction.hidingPasswords(in: bytes)
        for secret in secrets { line = Redaction.hiding(secret, in: line) }
        let text = Redaction.printable(line.prefix(Self.lineLength))
        return line.count > Self.lineLength ? "\(text)... (\(bytes.count) bytes)" : text
    }
}

extension [UInt8] {
    fileprivate func contains(_ other: [UInt8]) -> Bool { firstRange(of: other) != nil }
}

/// Makes lines safe for a report.
enum Redaction {
    private static let placeholder = Array("<redacted>".utf8)

    /// Replaces the values of all `password` members, also in invalid JSON.
    static func hidingPasswords(in line: [UInt8]) -> [UInt8] {
        let name = Array(#""password""#.utf8)
        var result: [UInt8] = []
        var rest = line[...]
        while let found = rest.firstRange(of: name) {
            result += rest[..<found.upperBound]
            rest = rest[found.upperBound...]
            let opening = rest.prefix { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: ":") }
            guard !opening.isEmpty, rest.dropFirst(opening.count).first == UInt8(ascii: "\"") else { continue }
            result += opening + [UInt8(ascii: "\"")] + placeholder
            rest = rest.dropFirst(opening.count + 1)
            var isEscaped = false
            rest = rest.drop { byte in
                if !isEscaped, byte == UInt8(ascii: "\"") { return false }
                isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
                return true
            }
        }
        return result + rest
    }

    static func hiding(_ secret: [UInt8], in line: [UInt8]) -> [UInt8] {
        guard !secret.isEmpty else { return line }
        var result: [UInt8] = []
        var rest = line[...]
        while let found = rest.firstRange(of: secret) {
            result += rest[..<found.lowerBound] + placeholder
            rest = rest[found.upperBound...]
        }
        return result + rest
    }

    /// Returns text without characters that move the cursor or reorder the line.
    static func printable(_ bytes: some Collection<UInt8>) -> String {
        String(printable: bytes)
    }
}
