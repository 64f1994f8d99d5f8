/// Name of a device, chosen by its owner: 1 to 64 characters of any language, at most 256 bytes of UTF-8.
///
/// Has no white space at its ends, no character that ends a line or reorders text, and at least one visible character.
public struct DeviceName: Hashable, Sendable {
    /// Limit in characters, as a user counts them.
    public static let maximumCharacters = 64
    /// Limit in bytes of UTF-8. One character can have any number of bytes.
    public static let maximumLength = 256

    public let text: String

    /// Removes white space at the ends of `text`.
    /// - Throws: `InvalidDeviceName` if the rest breaks a rule.
    public init(_ text: String) throws(InvalidDeviceName) {
        // Bound the work before characters are counted.
        guard text.utf8.count <= Self.maximumLength * 2 else { throw .tooLong }
        let isBlank = \Unicode.Scalar.Properties.isWhitespace
        let scalars = text.unicodeScalars.drop { $0.properties[keyPath: isBlank] }
        guard let last = scalars.lastIndex(where: { !$0.properties[keyPath: isBlank] }) else { throw .empty }
        let name = String(scalars[...last])
        guard name.utf8.count <= Self.maximumLength, name.count <= Self.maximumCharacters else { throw .tooLong }
        guard name.unicodeScalars.allSatisfy(\.isHarmless) else { throw .unsafe }
        guard name.unicodeScalars.contains(where: \.isVisible) else { throw .empty }
        self.text = name
    }

    /// Returns the longest beginning of the name, in whole characters, of at most `length` bytes of UTF-8.
    package func prefix(ofBytes length: Int) -> String {
        var prefix = text
        while prefix.utf8.count > length { prefix.removeLast() }
        return prefix
    }
}

public enum InvalidDeviceName: Error, Sendable, Equatable, CustomStringConvertible {
    /// The text has no visible character.
    case empty
    case tooLong
    /// The text has a control character, a line separator, or a character that changes the direction of text.
    case unsafe

    /// Text that completes the sentence "FIELD ...".
    public var description: String {
        switch self {
        case .empty: "must have a visible character"
        case .tooLong:
            "must have at most \(DeviceName.maximumCharacters) characters and \(DeviceName.maximumLength) bytes"
        case .unsafe: "must not have control characters, line ends or characters that change the direction of text"
        }
    }
}

extension DeviceName: CustomStringConvertible {
    /// The name. It is safe for a terminal or a log, because it has no control characters.
    public var description: String { text }
}

extension Unicode.Scalar {
    fileprivate var isHarmless: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: false
        // XML has no noncharacters, and a DNS-SD responder refuses a file with one.
        case _ where properties.isNoncharacterCodePoint: false
        default: !(0x202a...0x202e).contains(value) && !(0x2066...0x2069).contains(value)
        }
    }

    fileprivate var isVisible: Bool {
        !properties.isWhitespace && !properties.isDefaultIgnorableCodePoint && properties.generalCategory != .format
    }
}
