/// A piece of a page. Element and attribute names are constants, and every text is escaped when written.
indirect enum HTML: Sendable {
    case element(StaticString, [Attribute], [HTML])
    case text(String)

    struct Attribute: Sendable {
        let name: StaticString
        /// Value of the attribute; nil for a boolean one such as `checked`.
        let value: String?

        init(_ name: StaticString, _ value: String?) { (self.name, self.value) = (name, value) }
    }

    static func tag(_ name: StaticString, _ attributes: [Attribute] = [], _ content: [HTML] = []) -> HTML {
        .element(name, attributes, content)
    }

    static func tag(_ name: StaticString, _ attributes: [Attribute] = [], text: String) -> HTML {
        .element(name, attributes, [.text(text)])
    }

    func document() -> [UInt8] {
        var bytes = Array("<!doctype html>\n".utf8)
        write(to: &bytes)
        bytes.append(UInt8(ascii: "\n"))
        return bytes
    }

    private func write(to bytes: inout [UInt8]) {
        switch self {
        case .text(let text): Self.escape(text, to: &bytes)
        case .element(let name, let attributes, let content):
            bytes.append(UInt8(ascii: "<"))
            Self.append(name, to: &bytes)
            for attribute in attributes {
                bytes.append(UInt8(ascii: " "))
                Self.append(attribute.name, to: &bytes)
                guard let value = attribute.value else { continue }
                bytes += [UInt8(ascii: "="), UInt8(ascii: "\"")]
                Self.escape(value, to: &bytes)
                bytes.append(UInt8(ascii: "\""))
            }
            bytes.append(UInt8(ascii: ">"))
            guard !Self.isVoid(name) else { return }
            for piece in content { piece.write(to: &bytes) }
            bytes += [UInt8(ascii: "<"), UInt8(ascii: "/")]
            Self.append(name, to: &bytes)
            bytes.append(UInt8(ascii: ">"))
        }
    }

    private static func append(_ name: StaticString, to bytes: inout [UInt8]) {
        name.withUTF8Buffer { bytes.append(contentsOf: $0) }
    }

    private static func escape(_ text: String, to bytes: inout [UInt8]) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "&"): bytes.append(contentsOf: "&amp;".utf8)
            case UInt8(ascii: "<"): bytes.append(contentsOf: "&lt;".utf8)
            case UInt8(ascii: ">"): bytes.append(contentsOf: "&gt;".utf8)
            case UInt8(ascii: "\""): bytes.append(contentsOf: "&quot;".utf8)
            case UInt8(ascii: "'"): bytes.append(contentsOf: "&#39;".utf8)
            // Control characters are forbidden in documents, even escaped (HTML, 13.1.4).
            case 0..<0x20 where byte != UInt8(ascii: "\n"), 0x7f: bytes.append(UInt8(ascii: " "))
            default: bytes.append(byte)
            }
        }
    }

    /// Elements without content and end tag (HTML, 13.1.2).
    private static func isVoid(_ name: StaticString) -> Bool {
        ["meta", "link", "input", "br"].contains(name.description)
    }
}

extension HTML.Attribute {
    static func id(_ value: String) -> Self { Self("id", value) }
    static func `class`(_ value: String) -> Self { Self("class", value) }
    static func name(_ value: String) -> Self { Self("name", value) }
    static func value(_ value: String) -> Self { Self("value", value) }
    static func type(_ value: String) -> Self { Self("type", value) }
    static func href(_ path: String) -> Self { Self("href", path) }
}
