/// Name of a network: 1 to 32 arbitrary bytes (IEEE 802.11-2020, 9.4.2.2). Anyone with an access point can choose these
/// bytes, so they are hostile input. `description` is safe to print.
public struct SSID: Hashable, Sendable {
    public static let maximumLength = 32

    public let bytes: [UInt8]

    /// - Throws: `InvalidSSID` unless there are 1 to 32 bytes. The empty SSID is the wildcard.
    public init(bytes: some Sequence<UInt8>) throws(InvalidSSID) {
        let bytes = Array(bytes)
        guard (1...Self.maximumLength).contains(bytes.count) else { throw InvalidSSID(length: bytes.count) }
        self.bytes = bytes
    }

    public init(_ text: String) throws(InvalidSSID) {
        try self.init(bytes: text.utf8)
    }

    /// The SSID as text; nil if it is not UTF-8.
    public var text: String? { String(validating: bytes, as: UTF8.self) }
}

public struct InvalidSSID: Error, Equatable, CustomStringConvertible {
    public let length: Int

    public var description: String {
        length == 0
            ? "an SSID cannot be empty"
            : "an SSID has at most \(SSID.maximumLength) bytes, this one has \(length)"
    }
}

// MARK: Text form

extension SSID: CustomStringConvertible {
    /// Text that is safe for a terminal, a log or a table. Characters that could move the cursor, hide or reorder text
    /// become one `\xNN` for each byte. A backslash is doubled, so the form is unambiguous.
    public var description: String { String(printable: bytes, doublingBackslashes: true) }

    /// Parses ``description``: `\xNN` is a byte, `\\` a backslash, other characters are UTF-8.
    /// - Returns: nil for any other escape and for an invalid SSID.
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
    /// Members that name a network in JSON: `ssid` if the bytes are UTF-8, else `ssidHex`.
    public struct JSONMembers: Codable, Hashable, Sendable {
        public let ssid: String?
        public let ssidHex: String?

        public init(ssid: String?, ssidHex: String?) { (self.ssid, self.ssidHex) = (ssid, ssidHex) }

        public init(_ name: SSID) {
            ssid = name.text
            ssidHex = ssid == nil ? Hex.string(name.bytes) : nil
        }

        /// - Returns: nil if both members are missing.
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

    public enum InvalidJSONMembers: Error, Equatable {
        /// Both `ssid` and `ssidHex` are present.
        case both
        case notHex
        case invalid(InvalidSSID)
    }
}

extension SSID: Codable {
    /// Decodes an object with one of ``JSONMembers``.
    public init(from decoder: any Decoder) throws {
        let name = try? JSONMembers(from: decoder).name
        guard let name else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "not an SSID"))
        }
        self = name
    }

    public func encode(to encoder: any Encoder) throws { try JSONMembers(self).encode(to: encoder) }
}

// MARK: wpa_supplicant

extension SSID {
    /// Decodes an SSID printed by wpa_supplicant: `\"`, `\\`, `\e`, `\n`, `\r`, `\t` and `\xNN` (hostap,
    /// printf_encode). Tolerates invalid escapes.
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
                // One or two digits.
                let digits = rest.prefix(2).prefix { Hex.value(of: $0) != nil }
                rest = rest.dropFirst(digits.count)
                if !digits.isEmpty { bytes.append(digits.reduce(0) { $0 << 4 | (Hex.value(of: $1) ?? 0) }) }
            case UInt8(ascii: "0")...UInt8(ascii: "7"):
                // Up to three octal digits.
                let digits = [escape] + rest.prefix(2).prefix { (UInt8(ascii: "0")...UInt8(ascii: "7")).contains($0) }
                rest = rest.dropFirst(digits.count - 1)
                bytes.append(digits.reduce(0) { $0 << 3 | ($1 - UInt8(ascii: "0")) })
            default: bytes.append(escape)
            }
        }
        return bytes
    }

    /// Hexadecimal digits without quotes, accepted by wpa_supplicant, hostapd and ConnMan.
    public var hex: String { Hex.string(bytes) }
}
