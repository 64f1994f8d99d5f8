/// Writes JSON text, the names of an object in the order of their bytes.
struct JSONWriter {
    private let formatting: JSONEncoder.OutputFormatting
    private var text: [UInt8] = []
    private var indent = 0

    static func write(_ value: JSONValue, _ formatting: JSONEncoder.OutputFormatting) -> Data {
        var writer = JSONWriter(formatting: formatting)
        writer.write(value)
        return Data(writer.text)
    }

    private init(formatting: JSONEncoder.OutputFormatting) { self.formatting = formatting }

    private mutating func write(_ value: JSONValue) {
        switch value {
        case .null: put("null")
        case .bool(let bool): put(bool ? "true" : "false")
        case .number(let number): put(number)
        case .string(let string): write(string)
        case .array(let elements): list(elements, in: ("[", "]")) { $0.write($1) }
        case .object(let members):
            list(members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }, in: ("{", "}")) {
                writer, member in
                writer.write(member.key)
                writer.put(writer.isPretty ? " : " : ":")
                writer.write(member.value)
            }
        }
    }

    private mutating func list<Element>(
        _ elements: [Element], in brackets: (String, String), _ write: (inout JSONWriter, Element) -> Void
    ) {
        put(brackets.0)
        indent += 1
        if elements.isEmpty && isPretty { put("\n") }
        for (index, element) in elements.enumerated() {
            if index > 0 { put(",") }
            breakLine()
            write(&self, element)
        }
        indent -= 1
        breakLine()
        put(brackets.1)
    }

    private mutating func breakLine() {
        if isPretty { put("\n" + String(repeating: "  ", count: indent)) }
    }

    private var isPretty: Bool { formatting.contains(.prettyPrinted) }

    private mutating func put(_ plain: String) { text += plain.utf8 }

    private mutating func write(_ string: String) {
        put("\"")
        for byte in string.utf8 {
            switch byte {
            case UInt8(ascii: "\""): put("\\\"")
            case UInt8(ascii: "\\"): put("\\\\")
            case UInt8(ascii: "/") where !formatting.contains(.withoutEscapingSlashes): put("\\/")
            case 0x08: put("\\b")
            case 0x0c: put("\\f")
            case UInt8(ascii: "\n"): put("\\n")
            case UInt8(ascii: "\r"): put("\\r")
            case UInt8(ascii: "\t"): put("\\t")
            case ..<0x20: put("\\u00" + (byte < 0x10 ? "0" : "") + String(byte, radix: 16))
            default: text.append(byte)
            }
        }
        put("\"")
    }
}
