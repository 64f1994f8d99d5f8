/// The name of a network: 1 to 32 arbitrary bytes, not necessarily text (IEEE 802.11-2020, 9.4.2.2).
///
/// An SSID is hostile input: the operator of an access point chooses it. `description` is safe to print anywhere.
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

/// A byte string that cannot name a network.
public struct InvalidSSID: Error, Equatable, CustomStringConvertible {
    public let length: Int

    public var description: String {
        length == 0
            ? "an SSID cannot be empty"
            : "an SSID has at most \(SSID.maximumLength) bytes, this one has \(length)"
    }
}

// MARK: Shown to the user, and typed by the user

extension SSID: CustomStringConvertible {
    /// The SSID as text that is safe in a terminal, a log and a table: letters, digits and the like as they are, and
    /// everything that could move a cursor, hide itself or reorder the line as `\xNN`, one for each byte. A backslash
    /// is doubled, so the form is unambiguous.
    public var description: String { String(printable: bytes, doublingBackslashes: true) }

    /// Reads ``description``: `\xNN` is a byte, `\\` a backslash, everything else its UTF-8.
    /// - Returns: nil for another escape, and for what is no SSID.
    public init?(description text: String) {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "\\"): bytes.append(byte)
            case UInt8(ascii: "x"):
                guard let escaped = Hex.popByte(&rest) else { return nil }
                bytes.append(escaped)
            default: return nil
            }
        }
        guard let ssid = try? SSID(bytes: bytes) else { return nil }
        self = ssid
    }
}

// MARK: JSON

extension SSID {
    /// The two members that name a network in JSON: `ssid` with its text where the bytes are UTF-8, else `ssidHex`.
    public struct JSONMembers: Codable, Hashable, Sendable {
        public let ssid: String?
        public let ssidHex: String?

        public init(ssid: String?, ssidHex: String?) { (self.ssid, self.ssidHex) = (ssid, ssidHex) }

        public init(_ name: SSID) {
            ssid = name.text
            ssidHex = ssid == nil ? Hex.string(name.bytes) : nil
        }

        /// - Returns: nil where there is neither.
        public var name: SSID? {
            get throws(InvalidJSONMembers) {
                let bytes: [UInt8]
                switch (ssid, ssidHex) {
                case (nil, nil): return nil
                case (let text?, nil): bytes = Array(text.utf8)
                case (nil, let hex?):
                    guard let digits = Hex.bytes(hex) else { throw .notHex }
                    bytes = digits
                case (_?, _?): throw .both
                }
                do { return try SSID(bytes: bytes) } catch { throw .invalid(error) }
            }
        }
    }

    /// Why the members name no network.
    public enum InvalidJSONMembers: Error, Equatable {
        /// `ssid` and `ssidHex` exclude each other.
        case both
        /// `ssidHex` is not pairs of hexadecimal digits.
        case notHex
        case invalid(InvalidSSID)
    }
}

extension SSID: Codable {
    /// An object with one of ``JSONMembers``.
    public init(from decoder: any Decoder) throws {
        let name = try? JSONMembers(from: decoder).name
        guard let name else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "no SSID"))
        }
        self = name
    }

    public func encode(to encoder: any Encoder) throws { try JSONMembers(self).encode(to: encoder) }
}

// MARK: wpa_supplicant

extension SSID {
    /// The bytes of an SSID as wpa_supplicant prints it: `\"`, `\\`, `\e`, `\n`, `\r`, `\t` and `\xNN` (hostap,
    /// printf_encode). Other text is read as far as possible.
    public static func bytes(printedBySupplicant text: some StringProtocol) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), let escape = rest.popFirst() else {
                bytes.append(byte)
                continue
            }
            switch escape {
            case UInt8(ascii: "e"): bytes.append(0x1b)
            case UInt8(ascii: "n"): bytes.append(0x0a)
            case UInt8(ascii: "r"): bytes.append(0x0d)
            case UInt8(ascii: "t"): bytes.append(0x09)
            case UInt8(ascii: "x"):
                let digits = rest.prefix(2)
                rest = rest.dropFirst(2)
                bytes += Hex.bytes(String(decoding: digits, as: UTF8.self)) ?? []
            default: bytes.append(escape)
            }
        }
        return bytes
    }

    /// The SSID as wpa_supplicant, hostapd and ConnMan read it in a setting: hexadecimal digits without quotes, because
    /// it is any bytes.
    public var hex: String { Hex.string(bytes) }
}
