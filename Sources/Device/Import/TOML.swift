import AgentModel

/// Reads TOML 1.0 into its values by path. Strings are copied into secrets. Does not check numbers and dates, and keeps
/// no lists.
struct TOMLText {
    enum Value {
        case string(Secret)
        /// A Boolean, a number or a date as written.
        case word(String)
        case list
    }

    struct Entry {
        let path: [String]
        let value: Value
        let line: Int
    }

    private(set) var entries: [Entry] = []
    /// Headers of tables. A list of tables has `[]` at the end.
    private(set) var tables: [(path: [String], line: Int)] = []

    private var rest: SourceText
    private var line = 1
    private var paths: Set<[String]> = []

    private static let maximumDepth = 16
    private static let maximumEntries = 20_000

    init(_ source: SourceText) throws(MalformedSource) {
        rest = source
        var table: [String] = []
        while try skipLines() {
            let start = line
            if take("[[") {
                table = try keys() + ["[]"]
                guard take("]]") else { throw fault("a header that does not end") }
                tables.append((table, start))
            } else if take("[") {
                table = try keys()
                guard take("]") else { throw fault("a header that does not end") }
                try add(table)
                tables.append((table, start))
            } else {
                try assignment(in: table, depth: 0)
            }
            skipBlanks()
            guard rest.isEmpty || isAtEndOfLine else { throw fault("text after a value") }
        }
    }

    private mutating func add(_ path: [String]) throws(MalformedSource) {
        guard paths.insert(path).inserted else { throw fault("a duplicate key") }
        guard paths.count < Self.maximumEntries else { throw fault("too many values") }
    }

    private mutating func assignment(in table: [String], depth: Int) throws(MalformedSource) {
        let start = line
        let path = table + (try keys())
        guard take("=") else { throw fault("a key without a value") }
        skipBlanks()
        try add(path)
        guard depth < Self.maximumDepth, path.count < Self.maximumDepth else { throw fault("too many levels") }
        if take("{") {
            skipBlanks()
            guard !take("}") else { return }
            repeat { try assignment(in: path, depth: depth + 1) } while take(",")
            guard take("}") else { throw fault("an inline table that does not end on its line") }
        } else {
            entries.append(Entry(path: path, value: try value(depth: depth), line: start))
        }
        skipBlanks()
    }

    private mutating func value(depth: Int) throws(MalformedSource) -> Value {
        if let text = try string() { return .string(text) }
        guard take("[") else {
            let word = rest.prefix { $0.isLetterOrDigit || "+-_.:".utf8.contains($0) }
            guard let first = word.first, first.isDigit || "+-".utf8.contains(first) || Self.words.contains(word.name)
            else { throw fault("a value that is neither quoted nor a number") }
            rest = rest.dropFirst(word.count)
            return .word(word.name)
        }
        guard depth < Self.maximumDepth else { throw fault("too many levels") }
        while try skipLines(), !take("]") {
            if take("{") {
                // The values of a table in a list have no path.
                var table = TOMLText(rest, line)
                table.skipBlanks()
                if !table.take("}") {
                    repeat { try table.assignment(in: [], depth: depth + 1) } while table.take(",")
                    guard table.take("}") else { throw table.fault("an inline table that does not end on its line") }
                }
                rest = table.rest
            } else {
                _ = try value(depth: depth + 1)
            }
            guard try skipLines() else { break }
            guard take(",") || rest.first == UInt8(ascii: "]") else { throw fault("a list without a comma") }
        }
        guard rest.base[rest.startIndex - 1] == UInt8(ascii: "]") else { throw fault("a list that does not end") }
        return .list
    }

    private static let words: Set = ["true", "false", "inf", "nan"]

    private init(_ rest: SourceText, _ line: Int) { (self.rest, self.line) = (rest, line) }

    // MARK: Keys and strings

    private mutating func keys() throws(MalformedSource) -> [String] {
        var path: [String] = []
        repeat {
            skipBlanks()
            if let text = try string() {
                path.append(text.withBytes { String(decoding: $0, as: UTF8.self) })
            } else {
                let key = rest.prefix { $0.isLetterOrDigit || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-") }
                guard !key.isEmpty else { throw fault("a line without a key") }
                rest = rest.dropFirst(key.count)
                path.append(key.text ?? "")
            }
            skipBlanks()
        } while take(".")
        return path
    }

    /// Reads a string at this position; nil if there is none.
    private mutating func string() throws(MalformedSource) -> Secret? {
        guard let quote = rest.first, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else { return nil }
        let marks = [quote, quote, quote]
        let isLong = rest.starts(with: marks)
        rest = rest.dropFirst(isLong ? 3 : 1)
        let start = line
        if isLong, take("\n") || take("\r\n") { line += 1 }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(min(rest.count, 128))
        while let byte = rest.popFirst() {
            switch byte {
            case quote where !isLong: return Secret(consuming: &bytes)
            case quote where rest.starts(with: marks.dropFirst()) && rest.dropFirst(2).first != quote:
                rest = rest.dropFirst(2)
                return Secret(consuming: &bytes)
            case UInt8(ascii: "\n") where !isLong: throw fault("a string that does not end on its line")
            case UInt8(ascii: "\\") where quote == UInt8(ascii: "\""):
                try escape(into: &bytes, isLong: isLong)
            default:
                if byte == UInt8(ascii: "\n") { line += 1 }
                bytes.append(byte)
            }
        }
        line = start
        throw fault("a string that does not end")
    }

    private mutating func escape(into bytes: inout [UInt8], isLong: Bool) throws(MalformedSource) {
        let escape = rest.popFirst() ?? 0
        switch escape {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(escape)
        case UInt8(ascii: "b"): bytes.append(8)
        case UInt8(ascii: "t"): bytes.append(9)
        case UInt8(ascii: "n"): bytes.append(10)
        case UInt8(ascii: "f"): bytes.append(12)
        case UInt8(ascii: "r"): bytes.append(13)
        case UInt8(ascii: "u"), UInt8(ascii: "U"):
            let digits = rest.prefix(escape == UInt8(ascii: "u") ? 4 : 8)
            let value = digits.reduce(UInt32(0)) { $0 << 4 | UInt32(Hex.value(of: $1) ?? 0) }
            guard digits.count >= 4, digits.allSatisfy(\.isHexDigit), let scalar = Unicode.Scalar(value) else {
                throw fault("an unknown escape")
            }
            rest = rest.dropFirst(digits.count)
            bytes += String(scalar).utf8
        case _ where isLong && (escape.isBlank || escape == UInt8(ascii: "\n") || escape == UInt8(ascii: "\r")):
            // A backslash at the end of a line continues the string behind the next blanks.
            if escape == UInt8(ascii: "\n") { line += 1 }
            while let next = rest.first, next.isBlank || next == UInt8(ascii: "\n") || next == UInt8(ascii: "\r") {
                if next == UInt8(ascii: "\n") { line += 1 }
                rest = rest.dropFirst()
            }
        default: throw fault("an unknown escape")
        }
    }

    // MARK: Positions

    private mutating func take(_ text: StaticString) -> Bool {
        guard rest.starts(with: text) else { return false }
        rest = rest.dropFirst(text.utf8CodeUnitCount)
        return true
    }

    private mutating func skipBlanks() { rest = rest.trimmedStart }

    private var isAtEndOfLine: Bool { rest.starts(with: "\n") || rest.starts(with: "\r\n") || rest.starts(with: "#") }

    /// Skips blanks, line ends and comments.
    /// - Returns: false at the end.
    private mutating func skipLines() throws(MalformedSource) -> Bool {
        while let byte = rest.first {
            switch byte {
            case UInt8(ascii: "#"): rest = rest.drop { $0 != UInt8(ascii: "\n") }
            case UInt8(ascii: "\n"):
                line += 1
                rest = rest.dropFirst()
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): rest = rest.dropFirst()
            default: return true
            }
        }
        return false
    }

    private func fault(_ problem: String) -> MalformedSource {
        MalformedSource("invalid TOML: " + problem, line: line)
    }
}
