/// The name of a network: 1 to 32 arbitrary bytes, not necessarily text (IEEE 802.11-2020, 9.4.2.2).
///
/// An SSID is hostile input: whoever runs an access point chooses it. `description` is safe to print anywhere.
public struct SSID: Hashable, Sendable {
    public static let maximumLength = 32

    public let bytes: [UInt8]

    /// - Throws: `InvalidSSID` unless there are 1 to 32 bytes. The empty SSID is the wildcard and names no network.
    public init(bytes: some Sequence<UInt8>) throws(InvalidSSID) {
        let bytes = Array(bytes)
        guard (1...Self.maximumLength).contains(bytes.count) else { throw InvalidSSID(length: bytes.count) }
        self.bytes = bytes
    }

    /// The SSID whose bytes are `text` in UTF-8.
    public init(_ text: String) throws(InvalidSSID) {
        try self.init(bytes: text.utf8)
    }

    /// The SSID as text, when its bytes are valid UTF-8.
    public var text: String? { String(validating: bytes, as: UTF8.self) }
}

extension SSID: CustomStringConvertible {
    /// The SSID as text that is safe in a terminal, a log and a table: letters, digits and the like as they are, and
    /// everything that could move a cursor, hide itself or reorder the line as `\xNN`, one for each byte. A backslash
    /// is doubled, so the form is unambiguous.
    public var description: String {
        guard let text else { return bytes.map(Self.escaped).joined() }
        return text.unicodeScalars.map { scalar in
            switch scalar {
            case "\\": "\\\\"
            case _ where scalar.isPlain: String(scalar)
            default: String(scalar).utf8.map(Self.hexEscape).joined()
            }
        }.joined()
    }

    private static func escaped(_ byte: UInt8) -> String {
        switch byte {
        case UInt8(ascii: "\\"): "\\\\"
        case 0x20...0x7e: String(UnicodeScalar(byte))
        default: hexEscape(byte)
        }
    }

    private static func hexEscape(_ byte: UInt8) -> String { "\\x" + Hex.string([byte]) }
}

/// A byte string that cannot name a network.
public struct InvalidSSID: Error, Equatable, CustomStringConvertible {
    public let length: Int

    public var description: String {
        length == 0
            ? "an SSID cannot be empty"
            : "an SSID has at most \(SSID.maximumLength) bytes, this one has \(length)"
    }
}
