/// Reads the part of XML that a picture needs, and refuses everything that is not well-formed in it (XML 1.0, 2.1).
struct XMLElement {
    let name: String
    let attributes: [String: String]
    var children: [XMLElement] = []
    var text = ""

    struct Malformed: Error, CustomStringConvertible {
        let description: String
    }

    init(document: String) throws {
        var reader = Reader(scalars: Array(document.unicodeScalars))
        self = try reader.element()
        try reader.end()
    }

    /// This element and all in it.
    var all: [XMLElement] { [self] + children.flatMap(\.all) }

    func all(named name: String) -> [XMLElement] { all.filter { $0.name == name } }

    func number(_ attribute: String) -> Double? { attributes[attribute].flatMap(Double.init) }

    private init(name: String, attributes: [String: String]) {
        self.name = name
        self.attributes = attributes
    }

    private struct Reader {
        let scalars: [Unicode.Scalar]
        var index = 0

        mutating func element() throws -> XMLElement {
            try expect("<")
            var element = XMLElement(name: try name(), attributes: try attributes())
            if accept("/") {
                try expect(">")
                return element
            }
            try expect(">")
            while true {
                element.text += try text(until: "<")
                guard !isNext("</") else { break }
                element.children.append(try self.element())
            }
            try expect("<")
            try expect("/")
            let end = try name()
            guard end == element.name else { throw Malformed(description: "\(element.name) ends as \(end)") }
            skipSpace()
            try expect(">")
            return element
        }

        mutating func end() throws {
            skipSpace()
            guard index == scalars.count else { throw Malformed(description: "something follows the root") }
        }

        private mutating func attributes() throws -> [String: String] {
            var attributes: [String: String] = [:]
            while skipSpace(), index < scalars.count, scalars[index] != ">", scalars[index] != "/" {
                let key = try name()
                try expect("=")
                try expect("\"")
                let value = try text(until: "\"")
                try expect("\"")
                guard attributes.updateValue(value, forKey: key) == nil else {
                    throw Malformed(description: "\(key) twice")
                }
            }
            return attributes
        }

        private mutating func name() throws -> String {
            let start = index
            while index < scalars.count,
                scalars[index].properties.isAlphabetic || "0123456789-_:".unicodeScalars.contains(scalars[index])
            {
                index += 1
            }
            guard index > start else { throw Malformed(description: "a name is missing at \(start)") }
            return String(String.UnicodeScalarView(scalars[start..<index]))
        }

        /// - Returns: The text with its entities resolved.
        private mutating func text(until end: Unicode.Scalar) throws -> String {
            var text = String.UnicodeScalarView()
            while index < scalars.count, scalars[index] != end {
                let scalar = scalars[index]
                switch scalar {
                case "<": throw Malformed(description: "< in a value")
                case "&": text.append(try entity())
                case "\n", "\t", "\r", "\u{20}"..."\u{d7ff}", "\u{e000}"..."\u{fffd}", "\u{10000}"..."\u{10ffff}":
                    text.append(scalar)
                default: throw Malformed(description: "U+\(String(scalar.value, radix: 16)) is no character of XML")
                }
                index += 1
            }
            guard index < scalars.count else { throw Malformed(description: "it ends in the middle") }
            return String(text)
        }

        /// - Returns: What stands at the semicolon.
        private mutating func entity() throws -> Unicode.Scalar {
            for (name, scalar) in [("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\"")]
                as [(String, Unicode.Scalar)]
            where isNext(name) {
                index += name.unicodeScalars.count - 1
                return scalar
            }
            throw Malformed(description: "an unknown entity at \(index)")
        }

        private func isNext(_ text: String) -> Bool { scalars[index...].starts(with: text.unicodeScalars) }

        @discardableResult private mutating func skipSpace() -> Bool {
            while index < scalars.count, scalars[index] == " " || scalars[index] == "\n" { index += 1 }
            return true
        }

        private mutating func accept(_ scalar: Unicode.Scalar) -> Bool {
            guard index < scalars.count, scalars[index] == scalar else { return false }
            index += 1
            return true
        }

        private mutating func expect(_ scalar: Unicode.Scalar) throws {
            guard accept(scalar) else { throw Malformed(description: "\(scalar) is missing at \(index)") }
        }
    }
}
