/// The character references of HTML, as far as addresses, values and labels need them.
enum Entities {
    private static let named: [Substring: Unicode.Scalar] = [
        "amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'", "nbsp": " ",
    ]

    /// The longest reference, in characters, without its ampersand.
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

    /// - Returns: what it stands for, and its length without `&` and `;`; nil where it is none.
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
