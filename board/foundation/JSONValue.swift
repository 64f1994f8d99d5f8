/// A JSON document taken apart, or not yet put together.
enum JSONValue {
    case null
    case bool(Bool)
    /// As it is written.
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([(key: String, value: JSONValue)])
}

extension JSONValue {
    /// Writes the value as Foundation does.
    func write(_ formatting: JSONEncoder.OutputFormatting, indent: Int = 0, to text: inout Data) {
        switch self {
        case .null: text.append(contentsOf: "null".utf8)
        case .bool(let bool): text.append(contentsOf: (bool ? "true" : "false").utf8)
        case .number(let number): text.append(contentsOf: number.utf8)
        case .string(let string): Self.write(string, formatting, to: &text)
        case .array(let values):
            Self.write(values, in: ("[", "]"), formatting, indent: indent, to: &text) { value, text in
                value.write(formatting, indent: indent + 1, to: &text)
            }
        case .object(var members):
            if formatting.contains(.sortedKeys) { members.sort { $0.key < $1.key } }
            Self.write(members, in: ("{", "}"), formatting, indent: indent, to: &text) { member, text in
                Self.write(member.key, formatting, to: &text)
                text.append(contentsOf: (formatting.contains(.prettyPrinted) ? " : " : ":").utf8)
                member.value.write(formatting, indent: indent + 1, to: &text)
            }
        }
    }

    private static func write<Part>(
        _ parts: [Part], in brackets: (String, String), _ formatting: JSONEncoder.OutputFormatting, indent: Int,
        to text: inout Data, _ writePart: (Part, inout Data) -> Void
    ) {
        func breakLine(_ indent: Int) {
            guard formatting.contains(.prettyPrinted) else { return }
            text.append(UInt8(ascii: "\n"))
            text.append(contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * indent))
        }
        text.append(contentsOf: brackets.0.utf8)
        for (index, part) in parts.enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            breakLine(indent + 1)
            writePart(part, &text)
        }
        if parts.isEmpty, formatting.contains(.prettyPrinted) { text.append(UInt8(ascii: "\n")) }
        breakLine(indent)
        text.append(contentsOf: brackets.1.utf8)
    }

    private static func write(_ string: String, _ formatting: JSONEncoder.OutputFormatting, to text: inout Data) {
        text.append(UInt8(ascii: "\""))
        for byte in string.utf8 {
            switch byte {
            case UInt8(ascii: "\""): text.append(contentsOf: #"\""#.utf8)
            case UInt8(ascii: "\\"): text.append(contentsOf: #"\\"#.utf8)
            case UInt8(ascii: "/") where !formatting.contains(.withoutEscapingSlashes):
                text.append(contentsOf: #"\/"#.utf8)
            case 0x08: text.append(contentsOf: #"\b"#.utf8)
            case 0x09: text.append(contentsOf: #"\t"#.utf8)
            case 0x0a: text.append(contentsOf: #"\n"#.utf8)
            case 0x0c: text.append(contentsOf: #"\f"#.utf8)
            case 0x0d: text.append(contentsOf: #"\r"#.utf8)
            case 0..<0x20:
                text.append(contentsOf: #"\u00"#.utf8)
                text.append(contentsOf: (byte < 0x10 ? "0" : "").utf8)
                text.append(contentsOf: String(byte, radix: 16).utf8)
            default: text.append(byte)
            }
        }
        text.append(UInt8(ascii: "\""))
    }
}
