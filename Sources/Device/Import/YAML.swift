import AgentModel

/// Parser for the part of YAML 1.2 in network configurations of netplan and cloud-init: one document of block and flow
/// mappings and sequences, with plain and quoted scalars. Refuses anchors, aliases, tags, block scalars, complex keys
/// and multi-line plain scalars.
///
/// Nodes point into the source, which may contain passwords. Do not use a node after the source was wiped.
indirect enum YAMLNode {
    case null
    case scalar(YAMLScalar)
    case sequence([YAMLNode])
    /// A mapping with unique keys.
    case mapping([(key: YAMLScalar, value: YAMLNode)])
}

struct YAMLScalar {
    enum Style {
        case plain
        case single
        case double
    }

    /// Text without quotes.
    let source: SourceText
    let style: Style
    let line: Int
}

extension YAMLNode {
    init(_ source: SourceText) throws(MalformedSource) {
        var reader = YAMLReader(source)
        self = try reader.document()
    }

    var scalar: YAMLScalar? { if case .scalar(let scalar) = self { scalar } else { nil } }

    var text: String? { scalar?.text }

    var entries: [(key: YAMLScalar, value: YAMLNode)] { if case .mapping(let entries) = self { entries } else { [] } }

    var items: [YAMLNode] { if case .sequence(let items) = self { items } else { [] } }

    subscript(key: String) -> YAMLNode? { entries.first { $0.key.text == key }?.value }

    /// Boolean value, in the words that netplan accepts; nil for other text.
    var flag: Bool? { text.flatMap(Self.flag) }

    static func flag(_ text: String) -> Bool? {
        switch text.lowercased() {
        case "true", "yes", "on", "y": true
        case "false", "no", "off", "n": false
        default: nil
        }
    }
}

extension YAMLScalar {
    var text: String? {
        var bytes = bytes()
        defer { bytes.withUnsafeMutableBytes { wipe($0) } }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Text for messages. Never use this for a secret.
    var name: String { source.name }

    var secret: Secret {
        var bytes = bytes()
        return Secret(consuming: &bytes)
    }

    /// Returns the value of the scalar. The caller wipes the bytes, as they may be a secret.
    func bytes() -> [UInt8] {
        var bytes: [UInt8] = []
        // Only the escapes \L and \P are shorter than their values: two bytes in place of three.
        bytes.reserveCapacity(source.count * 2)
        var rest = source
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "'") where style == .single:
                // Skip the second quote of a doubled quote.
                rest = rest.dropFirst()
                bytes.append(byte)
            case UInt8(ascii: "\\") where style == .double: Self.unescape(&rest, into: &bytes)
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
                if byte == UInt8(ascii: "\r"), rest.first == UInt8(ascii: "\n") { rest = rest.dropFirst() }
                Self.fold(&rest, into: &bytes)
            default: bytes.append(byte)
            }
        }
        return bytes
    }

    /// Folds line breaks (YAML 1.2, 6.5): a single break becomes a blank, n breaks become n - 1 line feeds.
    private static func fold(_ rest: inout SourceText, into bytes: inout [UInt8]) {
        while let last = bytes.last, last.isBlank { bytes.removeLast() }
        var breaks = 0
        while let next = rest.first, next.isBlank || next == UInt8(ascii: "\n") || next == UInt8(ascii: "\r") {
            if next == UInt8(ascii: "\n") { breaks += 1 }
            rest = rest.dropFirst()
        }
        if breaks == 0 { bytes.append(UInt8(ascii: " ")) }
        for _ in 0..<breaks { bytes.append(UInt8(ascii: "\n")) }
    }

    private static func unescape(_ rest: inout SourceText, into bytes: inout [UInt8]) {
        guard let escape = rest.popFirst() else { return }
        switch escape {
        case UInt8(ascii: "x"): append(hex: 2, &rest, to: &bytes)
        case UInt8(ascii: "u"): append(hex: 4, &rest, to: &bytes)
        case UInt8(ascii: "U"): append(hex: 8, &rest, to: &bytes)
        case UInt8(ascii: "\n"), UInt8(ascii: "\r"): rest = rest.drop { $0.isSpace }
        default: bytes += simpleEscapes[escape] ?? [escape]
        }
    }

    private static func append(hex digits: Int, _ rest: inout SourceText, to bytes: inout [UInt8]) {
        let value = rest.prefix(digits).reduce(UInt32(0)) { $0 << 4 | UInt32(Hex.value(of: $1) ?? 0) }
        rest = rest.dropFirst(digits)
        bytes += Array(String(Unicode.Scalar(value) ?? "\u{fffd}").utf8)
    }

    /// Values of escapes that have one character (YAML 1.2, 5.7).
    fileprivate static let simpleEscapes: [UInt8: [UInt8]] = [
        UInt8(ascii: "0"): [0], UInt8(ascii: "a"): [7], UInt8(ascii: "b"): [8], UInt8(ascii: "t"): [9],
        UInt8(ascii: "\t"): [9], UInt8(ascii: "n"): [10], UInt8(ascii: "v"): [11], UInt8(ascii: "f"): [12],
        UInt8(ascii: "r"): [13], UInt8(ascii: "e"): [27], UInt8(ascii: " "): [32], UInt8(ascii: "\""): [34],
        UInt8(ascii: "/"): [47], UInt8(ascii: "\\"): [92], UInt8(ascii: "N"): [0xc2, 0x85],
        UInt8(ascii: "_"): [0xc2, 0xa0], UInt8(ascii: "L"): [0xe2, 0x80, 0xa8], UInt8(ascii: "P"): [0xe2, 0x80, 0xa9],
    ]
}

private struct YAMLReader {
    private let source: SourceText
    private var position: Int
    private var line = 1
    private var lineStart: Int
    private var nodes = 0

    private static let maximumNodes = 20_000
    private static let maximumDepth = 32

    init(_ source: SourceText) {
        self.source = source
        position = self.source.startIndex
        lineStart = position
    }

    mutating func document() throws(MalformedSource) -> YAMLNode {
        try skip()
        if isMark("---") {
            position += 3
            skipBlanks()
            if !isAtEndOfLine { throw fault("content on the line of ---") }
            try skip()
        }
        guard !isAtEnd else { return .null }
        let root = try block(depth: 0)
        if isMark("---") { throw fault("a second document") }
        guard isAtEnd else { throw fault("a line outside any mapping or list") }
        return root
    }

    // MARK: Blocks

    /// Returns the node at this position and moves to the next token.
    private mutating func block(depth: Int) throws(MalformedSource) -> YAMLNode {
        try count(depth)
        let column = column
        if isDash { return try sequence(at: column, depth) }
        if peek == UInt8(ascii: "[") || peek == UInt8(ascii: "{") {
            let node = try flow(depth)
            try endOfLine()
            return node
        }
        let scalar = try scalar(inFlow: false)
        guard peek == UInt8(ascii: ":") else {
            try endOfLine()
            return .scalar(scalar)
        }
        return try mapping(from: scalar, at: column, depth)
    }

    private mutating func sequence(at column: Int, _ depth: Int) throws(MalformedSource) -> YAMLNode {
        var items: [YAMLNode] = []
        while !isAtEnd, self.column == column, isDash {
            position += 1
            skipBlanks()
            if isAtEndOfLine {
                try skip()
                items.append(!isAtEnd && self.column > column ? try block(depth: depth + 1) : .null)
            } else {
                items.append(try block(depth: depth + 1))
            }
        }
        guard isAtEnd || self.column <= column else { throw indentation }
        return .sequence(items)
    }

    private mutating func mapping(
        from first: YAMLScalar, at column: Int, _ depth: Int
    ) throws(MalformedSource) -> YAMLNode {
        var entries: [(key: YAMLScalar, value: YAMLNode)] = []
        var names: Set<[UInt8]> = []
        var key = first
        while true {
            guard peek == UInt8(ascii: ":") else { throw fault("a key without a colon", line: key.line) }
            guard key.source.count <= 1024, names.insert(key.bytes()).inserted else {
                throw fault("a duplicate key", line: key.line)
            }
            position += 1
            entries.append((key, try value(of: column, depth)))
            guard !isAtEnd, self.column >= column else { break }
            guard self.column == column, !isDash else { throw indentation }
            key = try scalar(inFlow: false)
        }
        return .mapping(entries)
    }

    private mutating func value(of column: Int, _ depth: Int) throws(MalformedSource) -> YAMLNode {
        guard isAtEnd || peek?.isSpace == true else { throw fault("a colon without a space after it") }
        skipBlanks()
        if isAtEndOfLine {
            try skip()
            guard !isAtEnd else { return .null }
            if self.column > column || self.column == column && isDash { return try block(depth: depth + 1) }
            return .null
        }
        try count(depth + 1)
        let node: YAMLNode
        if peek == UInt8(ascii: "[") || peek == UInt8(ascii: "{") {
            node = try flow(depth + 1)
        } else {
            guard !isDash else { throw fault("a sequence on the line of its key") }
            node = .scalar(try scalar(inFlow: false))
            guard peek != UInt8(ascii: ":") else { throw fault("a mapping on the line of its key") }
        }
        try endOfLine()
        guard isAtEnd || self.column <= column else { throw indentation }
        return node
    }

    // MARK: Flow

    private mutating func flow(_ depth: Int) throws(MalformedSource) -> YAMLNode {
        try count(depth)
        switch peek {
        case UInt8(ascii: "["):
            position += 1
            var items: [YAMLNode] = []
            while try !closes(UInt8(ascii: "]")) {
                items.append(try flow(depth + 1))
                try separator(UInt8(ascii: "]"))
            }
            return .sequence(items)
        case UInt8(ascii: "{"):
            position += 1
            var entries: [(key: YAMLScalar, value: YAMLNode)] = []
            var names: Set<[UInt8]> = []
            while try !closes(UInt8(ascii: "}")) {
                let key = try scalar(inFlow: true)
                guard key.source.count <= 1024, names.insert(key.bytes()).inserted else {
                    throw fault("a duplicate key", line: key.line)
                }
                try skip()
                var value = YAMLNode.null
                if peek == UInt8(ascii: ":") {
                    position += 1
                    try skip()
                    if peek != UInt8(ascii: ","), peek != UInt8(ascii: "}") { value = try flow(depth + 1) }
                }
                entries.append((key, value))
                try separator(UInt8(ascii: "}"))
            }
            return .mapping(entries)
        default: return .scalar(try scalar(inFlow: true))
        }
    }

    private mutating func closes(_ bracket: UInt8) throws(MalformedSource) -> Bool {
        try skip()
        guard !isAtEnd else { throw fault("an unclosed bracket") }
        guard peek == bracket else { return false }
        position += 1
        return true
    }

    /// Skips the comma after an item, or stops before the closing bracket.
    private mutating func separator(_ bracket: UInt8) throws(MalformedSource) {
        try skip()
        guard !isAtEnd else { throw fault("an unclosed bracket") }
        if peek == UInt8(ascii: ",") {
            position += 1
        } else if peek != bracket {
            throw fault("a list without a comma between its items")
        }
    }

    // MARK: Scalars

    private mutating func scalar(inFlow: Bool) throws(MalformedSource) -> YAMLScalar {
        let line = line
        switch peek {
        case UInt8(ascii: "'"):
            let text = try quoted(UInt8(ascii: "'"))
            if !inFlow { skipBlanks() }
            return YAMLScalar(source: text, style: .single, line: line)
        case UInt8(ascii: "\""):
            let text = try quoted(UInt8(ascii: "\""))
            if !inFlow { skipBlanks() }
            return YAMLScalar(source: text, style: .double, line: line)
        case UInt8(ascii: "&"), UInt8(ascii: "*"), UInt8(ascii: "!"):
            throw fault("an anchor, an alias or a tag")
        case UInt8(ascii: "|"), UInt8(ascii: ">"): throw fault("a block of text")
        case UInt8(ascii: "%"), UInt8(ascii: "@"), UInt8(ascii: "`"), UInt8(ascii: "#"), UInt8(ascii: ","),
            UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "{"), UInt8(ascii: "}"):
            throw fault("a character that cannot begin a value")
        case UInt8(ascii: "?"), UInt8(ascii: ":"), UInt8(ascii: "-"):
            if isSpace(at: position + 1) { throw fault("an unsupported key or item") }
        default: break
        }
        return YAMLScalar(source: try plain(inFlow), style: .plain, line: line)
    }

    private mutating func plain(_ inFlow: Bool) throws(MalformedSource) -> SourceText {
        let start = position
        while let byte = peek, byte != UInt8(ascii: "\n"), byte != UInt8(ascii: "\r") {
            if byte == UInt8(ascii: ":"), isSpace(at: position + 1) || inFlow && isFlowMark(at: position + 1) { break }
            if byte == UInt8(ascii: "#"), position > start, source[position - 1].isBlank { break }
            if inFlow, isFlowMark(at: position) { break }
            position += 1
        }
        let text = source[start..<position].trimmed
        guard !text.isEmpty else { throw fault("a missing value") }
        return text
    }

    private mutating func quoted(_ quote: UInt8) throws(MalformedSource) -> SourceText {
        let first = line
        position += 1
        let start = position
        while let byte = peek {
            switch byte {
            case quote:
                guard quote == UInt8(ascii: "'"), position + 1 < source.endIndex, source[position + 1] == quote else {
                    position += 1
                    return source[start..<(position - 1)]
                }
                position += 2
            case UInt8(ascii: "\\") where quote == UInt8(ascii: "\""):
                position += 1
                try checkEscape()
            case UInt8(ascii: "\n"): newLine()
            default: position += 1
            }
        }
        throw fault("an unclosed quote", line: first)
    }

    private mutating func checkEscape() throws(MalformedSource) {
        guard let escape = peek else { return }
        let digits =
            switch escape {
            case UInt8(ascii: "x"): 2
            case UInt8(ascii: "u"): 4
            case UInt8(ascii: "U"): 8
            default: 0
            }
        if digits > 0 {
            let text = source[(position + 1)...].prefix(digits)
            guard text.count == digits, text.allSatisfy(\.isHexDigit) else { throw fault("an unknown escape") }
            position += digits
        } else if escape != UInt8(ascii: "\n"), escape != UInt8(ascii: "\r"), YAMLScalar.simpleEscapes[escape] == nil {
            throw fault("an unknown escape")
        }
        if escape == UInt8(ascii: "\n") { newLine() } else { position += 1 }
    }

    // MARK: Positions

    private var isAtEnd: Bool { position >= source.endIndex || isMark("...") || isMark("---") }

    private var peek: UInt8? { position < source.endIndex ? source[position] : nil }

    private var column: Int { position - lineStart }

    private var isDash: Bool { peek == UInt8(ascii: "-") && isSpace(at: position + 1) }

    private var isAtEndOfLine: Bool {
        guard let peek else { return true }
        return peek == UInt8(ascii: "\n") || peek == UInt8(ascii: "\r") || peek == UInt8(ascii: "#")
    }

    private func isSpace(at index: Int) -> Bool { index >= source.endIndex || source[index].isSpace }

    private func isFlowMark(at index: Int) -> Bool {
        guard index < source.endIndex else { return false }
        return ",[]{}".utf8.contains(source[index])
    }

    private func isMark(_ mark: StaticString) -> Bool {
        position == lineStart && source[position...].starts(with: mark) && isSpace(at: position + 3)
    }

    private mutating func skipBlanks() { while let byte = peek, byte.isBlank { position += 1 } }

    private mutating func newLine() {
        position += 1
        line += 1
        lineStart = position
    }

    /// Moves to the next token, over blanks, comments and line ends.
    private mutating func skip() throws(MalformedSource) {
        while let byte = peek {
            switch byte {
            case UInt8(ascii: "\n"): newLine()
            case UInt8(ascii: " "), UInt8(ascii: "\r"): position += 1
            case UInt8(ascii: "\t"):
                let isIndentation = source[lineStart..<position].allSatisfy(\.isBlank)
                skipBlanks()
                if isIndentation, !isAtEndOfLine { throw fault("a tab in the indentation") }
            case UInt8(ascii: "#") where position == lineStart || source[position - 1].isBlank:
                while let byte = peek, byte != UInt8(ascii: "\n") { position += 1 }
            default: return
            }
        }
    }

    private mutating func endOfLine() throws(MalformedSource) {
        let before = line
        let start = position
        try skip()
        guard line > before || position >= source.endIndex else {
            throw fault(position == start ? "text after a value" : "more than one value on a line")
        }
    }

    private mutating func count(_ depth: Int) throws(MalformedSource) {
        nodes += 1
        guard depth < Self.maximumDepth, nodes < Self.maximumNodes else { throw fault("too many values or levels") }
    }

    private var indentation: MalformedSource {
        fault("an indentation that matches no line above, or a text on several lines")
    }

    private func fault(_ problem: String, line: Int? = nil) -> MalformedSource {
        MalformedSource("invalid or unsupported YAML: " + problem, line: line ?? self.line)
    }
}

extension UInt8 {
    fileprivate var isSpace: Bool { isBlank || self == UInt8(ascii: "\n") || self == UInt8(ascii: "\r") }
}
