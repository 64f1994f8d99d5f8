import AgentModel

/// Lines as they can stand in a report.
enum Redaction {
    private static let placeholder = Array("<redacted>".utf8)

    /// The line with the value of every member named `password` left out, whether or not it is JSON besides.
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

    /// The bytes as text in which nothing moves a cursor or reorders the line.
    static func printable(_ bytes: some Collection<UInt8>) -> String {
        String(printable: bytes)
    }
}
