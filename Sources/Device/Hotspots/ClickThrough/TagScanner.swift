/// Finds a page's tags and texts in one pass, with bounded memory. This is not a full HTML parser.
struct TagScanner: Sendable {
    struct Tag: Sendable, Equatable {
        let name: String
        let isClosing: Bool
        let attributes: [Attribute]

        struct Attribute: Sendable, Equatable {
            let name: String
            let value: String
        }

        subscript(name: String) -> String? { attributes.first { $0.name == name }?.value }
    }

    enum Token: Sendable, Equatable {
        case tag(Tag)
        case text(String)
    }

    /// Limits in bytes. Longer names and values are cut, and further attributes are ignored.
    static let nameLength = 64
    static let valueLength = 2048
    static let attributes = 32
    static let textLength = 512

    private let page: [UInt8]
    private var position = 0
    /// Name of the open `script` or `style` element, whose content is skipped.
    private var opaque: String?

    init(_ page: [UInt8]) { self.page = page }

    mutating func next() -> Token? {
        while position < page.count {
            if let name = opaque {
                skip(toClosing: name)
                opaque = nil
            } else if page[position] != UInt8(ascii: "<") {
                return .text(text())
            } else if starts(with: "<!--") {
                skip(past: "-->", from: position + 4)
            } else if let next = byte(at: position + 1), next == UInt8(ascii: "!") || next == UInt8(ascii: "?") {
                skip(past: ">", from: position + 2)
            } else if let tag = tag() {
                if !tag.isClosing, tag.name == "script" || tag.name == "style" { opaque = tag.name }
                return .tag(tag)
            } else {
                position += 1
                return .text("<")
            }
        }
        return nil
    }

    private mutating func text() -> String {
        let start = position
        position = page[start...].firstIndex(of: UInt8(ascii: "<")) ?? page.count
        return Entities.decoded(page[start..<min(position, start + Self.textLength)])
    }

    /// - Returns: nil if no tag begins here. Then the position is unchanged.
    private mutating func tag() -> Tag? {
        var at = position + 1
        let isClosing = byte(at: at) == UInt8(ascii: "/")
        if isClosing { at += 1 }
        guard let first = byte(at: at), Self.isLetter(first) else { return nil }
        let end = page[at...].firstIndex { Self.isSpace($0) || $0 == UInt8(ascii: ">") || $0 == UInt8(ascii: "/") }
        position = end ?? page.count
        let name = Self.name(page[at..<position])
        var attributes: [Tag.Attribute] = []
        while let attribute = attribute() {
            if attributes.count < Self.attributes { attributes.append(attribute) }
        }
        return Tag(name: name, isClosing: isClosing, attributes: attributes)
    }

    /// - Returns: nil at the end of the tag. The end is consumed.
    private mutating func attribute() -> Tag.Attribute? {
        while let next = byte(at: position), Self.isSpace(next) || next == UInt8(ascii: "/") { position += 1 }
        guard let next = byte(at: position) else { return nil }
        guard next != UInt8(ascii: ">") else {
            position += 1
            return nil
        }
        let start = position
        // The first byte always belongs to the name, so every call advances.
        position += 1
        while let next = byte(at: position), !Self.isSpace(next), !"=/>".utf8.contains(next) { position += 1 }
        let name = Self.name(page[start..<position])
        skipSpace()
        guard byte(at: position) == UInt8(ascii: "=") else { return Tag.Attribute(name: name, value: "") }
        position += 1
        skipSpace()
        return Tag.Attribute(name: name, value: value())
    }

    private mutating func value() -> String {
        guard let quote = byte(at: position) else { return "" }
        let isQuoted = quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'")
        let start = isQuoted ? position + 1 : position
        let end = page[start...].firstIndex { isQuoted ? $0 == quote : Self.isSpace($0) || $0 == UInt8(ascii: ">") }
        position = min((end ?? page.count) + (isQuoted ? 1 : 0), page.count)
        return Entities.decoded(page[start..<min(end ?? page.count, start + Self.valueLength)])
    }

    private mutating func skipSpace() { while let next = byte(at: position), Self.isSpace(next) { position += 1 } }

    private mutating func skip(past end: String, from start: Int) {
        var at = min(start, page.count)
        while at < page.count, !page[at...].starts(with: end.utf8) { at += 1 }
        position = min(at + end.utf8.count, page.count)
    }

    private mutating func skip(toClosing name: String) {
        let end = Array("</\(name)".utf8)
        while position < page.count,
            !page[position...].prefix(end.count).map(Self.lowercased).elementsEqual(end)
        {
            position = page[(position + 1)...].firstIndex(of: UInt8(ascii: "<")) ?? page.count
        }
    }

    private func starts(with text: String) -> Bool { page[position...].starts(with: text.utf8) }

    private func byte(at index: Int) -> UInt8? { index < page.count ? page[index] : nil }

    private static func name(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes.prefix(nameLength).map(lowercased), as: UTF8.self)
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(lowercased(byte))
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0d).contains(byte) }
}

enum Entities {
    private static let named: [Substring: Unicode.Scalar] = [
        "amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'", "nbsp": " ",
    ]

    /// Maximum length of an entity in characters, without the ampersand.
    private static let maximumLength = 10

    static func decoded(_ bytes: ArraySlice<UInt8>) -> String {
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.utf8.contains(UInt8(ascii: "&")) else { return text }
        var result = String.UnicodeScalarView()
        var rest = text.unicodeScalars[...]
        while let first = rest.first {
            if first == "&", let (scalar, length) = reference(rest.dropFirst().prefix(maximumLength)) {
                result.append(scalar)
                rest = rest.dropFirst(length + 2)
            } else {
                result.append(first)
                rest = rest.dropFirst()
            }
        }
        return String(result)
    }

    /// - Returns: the character, and the length without `&` and `;`; nil for an unknown reference.
    private static func reference(_ text: Substring.UnicodeScalarView) -> (Unicode.Scalar, Int)? {
        guard let end = text.firstIndex(of: ";") else { return nil }
        let name = Substring(text[..<end])
        let scalar: Unicode.Scalar?
        if name.hasPrefix("#x") || name.hasPrefix("#X") {
            scalar = UInt32(name.dropFirst(2), radix: 16).flatMap(Unicode.Scalar.init)
        } else if name.hasPrefix("#") {
            scalar = UInt32(name.dropFirst()).flatMap(Unicode.Scalar.init)
        } else {
            scalar = named[name]
        }
        return scalar.map { ($0, name.unicodeScalars.count) }
    }
}
