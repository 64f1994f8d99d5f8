/// Text form of bytes as pairs of hexadecimal digits.
public enum Hex {
    public static func string(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: bytes.lazy.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 0xf)]] }, as: UTF8.self)
    }

    /// Decodes `text`. Returns nil unless it is an even number of hexadecimal digits.
    public static func bytes(_ text: some StringProtocol) -> [UInt8]? {
        let values = text.utf8.map(value(of:))
        guard values.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(values.count / 2)
        for index in stride(from: 0, to: values.count, by: 2) {
            guard let high = values[index], let low = values[index + 1] else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    /// Removes and decodes two leading digits of `text`. Without two digits, returns nil and leaves `text` unchanged.
    package static func popByte(_ text: inout ArraySlice<UInt8>) -> UInt8? {
        let digits = text.prefix(2)
        guard digits.count == 2, let byte = bytes(String(decoding: digits, as: UTF8.self))?.first else { return nil }
        text.removeFirst(2)
        return byte
    }

    private static let digits = Array("0123456789abcdef".utf8)

    /// Value of a digit; nil for any other byte.
    package static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

// Conversions that make untrusted text safe to show in a terminal, a picture or a report.

extension Unicode.Scalar {
    /// Whether the character is visible or a space, and does not move other text.
    package var isPlain: Bool {
        switch properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: false
        case .nonspacingMark, .enclosingMark, .spacingMark: false
        case .spaceSeparator: self == " "
        default: true
        }
    }
}

extension String {
    /// Text with each unsafe character (cursor movement, invisible, reordering) as `\xNN`.
    package var printable: String { unicodeScalars.map { $0.isPlain ? String($0) : $0.escaped }.joined() }

    /// Text without the user and password of a URL, for messages. Text without `://` and a later `@` is unchanged.
    ///
    /// Cuts from the first `://` to the last `@`, even if that is outside the URL: a password that is not
    /// percent-encoded may contain any separator.
    package var withoutCredentials: String {
        guard let colon = indices.first(where: { self[$0] == ":" && self[$0...].starts(with: "://") }),
            let end = lastIndex(of: "@"), colon < end
        else { return self }
        return self[...colon] + "//..." + self[end...]
    }

    /// Makes bytes printable. If they are not UTF-8, each byte outside printable ASCII becomes `\xNN`.
    /// - Parameter doublingBackslashes: Whether to double backslashes, which makes the form unambiguous.
    package init(printable bytes: some Collection<UInt8>, doublingBackslashes: Bool = false) {
        let text = String(validating: bytes, as: UTF8.self)?.printable(doublingBackslashes)
        self =
            text
            ?? bytes.map { byte in
                switch byte {
                case UInt8(ascii: "\\") where doublingBackslashes: "\\\\"
                case 0x20...0x7e: String(UnicodeScalar(byte))
                default: "\\x" + Hex.string([byte])
                }
            }.joined()
    }

    /// Text for a terminal limited to ASCII: other characters become `\xNN`.
    package var ascii: String { unicodeScalars.map { $0.isASCII ? String($0) : $0.escaped }.joined() }

    private func printable(_ doublingBackslashes: Bool) -> String {
        guard doublingBackslashes else { return printable }
        return unicodeScalars.map { $0 == "\\" ? "\\\\" : $0.isPlain ? String($0) : $0.escaped }.joined()
    }
}

extension Unicode.Scalar {
    /// UTF-8 bytes, each as `\xNN`.
    fileprivate var escaped: String { String(self).utf8.map { "\\x" + Hex.string([$0]) }.joined() }
}
