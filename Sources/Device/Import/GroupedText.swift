import AgentModel

/// Groups of `key=value` lines, as in GLib's key files (NetworkManager) and ell's settings (iwd).
struct GroupedText {
    struct Value {
        let text: SourceText
        let line: Int
    }

    enum Dialect {
        /// GLib's key files: of a repeated key, the last value counts.
        case glib
        /// ell's settings: the first value counts, and a group such as `[@pem@name]` contains lines of another format.
        case ell
    }

    private(set) var groups: [String: [String: Value]] = [:]
    /// Text of groups such as `[@pem@name]`, by name.
    private(set) var embedded: [String: SourceText] = [:]
    private(set) var headers: [String: Int] = [:]
    /// Line number of the first repeated key.
    private var repeated: Int?

    /// - Throws: `MalformedSource` for a line that is neither a group, a value, a comment nor empty, or for a value
    ///   outside any group.
    init(_ source: SourceText, _ dialect: Dialect = .glib) throws(MalformedSource) {
        var group: String?
        var lines = source.lines[...]
        while let (number, line) = lines.popFirst() {
            let line = line.trimmedStart
            guard let first = line.first, first != UInt8(ascii: "#") else { continue }
            if dialect == .ell, line.starts(with: "[@pem@") {
                let name = line.trimmed.dropFirst(6).dropLast()
                let text = lines.prefix { $0.text.first != UInt8(ascii: "[") }
                lines = lines.dropFirst(text.count)
                guard let first = text.first?.text, let last = text.last?.text, let name = name.text else { continue }
                embedded[name] = source[first.startIndex..<last.endIndex]
                continue
            }
            if first == UInt8(ascii: "[") {
                let line = line.trimmed
                guard line.last == UInt8(ascii: "]"), let name = line.dropFirst().dropLast().text else {
                    throw MalformedSource("the line is not a group such as [wifi]", line: number)
                }
                group = name
                if groups[name] == nil { (groups[name], headers[name]) = ([:], number) }
                continue
            }
            guard let (key, value) = line.split(at: UInt8(ascii: "=")), let name = key.trimmed.text, !name.isEmpty
            else {
                throw MalformedSource("the line is neither [group] nor key=value", line: number)
            }
            guard let group else { throw MalformedSource("the value is outside any group", line: number) }
            if groups[group]?[name] != nil { repeated = repeated ?? number }
            if dialect == .ell, groups[group]?[name] != nil { continue }
            groups[group]?[name] = Value(text: value.trimmedStart, line: number)
        }
    }

    init(groups: [String: [String: Value]]) { self.groups = groups }

    subscript(group: String, key: String) -> Value? { groups[group]?[key] }

    func group(_ name: String, or other: String) -> [String: Value]? {
        guard let settings = groups[name] else { return groups[other] }
        return settings.merging(groups[other] ?? [:]) { first, _ in first }
    }

    /// Returns the first line with an unknown group, an unknown setting or a repeated key.
    /// - Parameter isKnown: returns whether a group or setting is known; key and value are nil for a group.
    func firstUnknown(_ isKnown: (_ group: String, _ key: String?, _ value: SourceText?) -> Bool) -> Int? {
        var lines = headers.filter { !isKnown($0.key, nil, nil) }.map { $0.value }
        for (group, values) in groups {
            lines += values.filter { !isKnown(group, $0.key, $0.value.text) }.map { $0.value.line }
        }
        if let repeated { lines.append(repeated) }
        return lines.min()
    }
}

extension GroupedText.Value {
    /// Text without trailing blanks. Escapes are not replaced.
    var word: String? { text.trimmed.text }

    /// Boolean value; nil for another word, which counts as none. Only `nmcli` writes `yes` or `no`.
    func flag(isAnswer: Bool = false) -> Bool? {
        switch word?.lowercased() {
        case "true", "1": true
        case "false", "0": false
        case "yes" where isAnswer: true
        case "no" where isAnswer: false
        default: nil
        }
    }

    var number: Int? { text.trimmed.number }

    /// Returns the bytes, with the escapes `\s`, `\t`, `\n`, `\r` and `\\` replaced. The caller wipes the bytes, as
    /// they may be a secret.
    /// - Throws: `MalformedSource` for any other escape.
    func bytes() throws(MalformedSource) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var rest = text
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "s"): bytes.append(UInt8(ascii: " "))
            case UInt8(ascii: "t"): bytes.append(UInt8(ascii: "\t"))
            case UInt8(ascii: "n"): bytes.append(UInt8(ascii: "\n"))
            case UInt8(ascii: "r"): bytes.append(UInt8(ascii: "\r"))
            case UInt8(ascii: "\\"): bytes.append(UInt8(ascii: "\\"))
            default:
                bytes.withUnsafeMutableBytes { wipe($0) }
                throw MalformedSource("the value has an unknown escape", line: line)
            }
        }
        return bytes
    }

    func secret() throws(MalformedSource) -> Secret {
        var bytes = try bytes()
        return Secret(consuming: &bytes)
    }
}
