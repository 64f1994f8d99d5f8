import AgentModel
import AppServer

/// The fields of a form (`application/x-www-form-urlencoded`, WHATWG URL, 5.1). Any value may be a password.
struct Form: Equatable {
    private let fields: [String: Secret]

    static let contentType = "application/x-www-form-urlencoded"
    /// Maximum number of fields, more than any form of the device has, and maximum bytes of a name.
    static let maximumFields = 16
    static let maximumNameLength = 32

    /// - Returns: nil for too many fields, a repeated field or invalid encoding.
    init?(reading body: Secret) {
        let fields = body.withBytes { bytes -> [String: Secret]? in
            var fields: [String: Secret] = [:]
            guard !bytes.isEmpty else { return fields }
            let parts = bytes.split(
                separator: UInt8(ascii: "&"), maxSplits: Self.maximumFields, omittingEmptySubsequences: false)
            guard parts.count <= Self.maximumFields else { return nil }
            for part in parts {
                let equals = part.firstIndex(of: UInt8(ascii: "=")) ?? part.endIndex
                guard let name = Self.decode(part[..<equals]).flatMap({ String(validating: $0, as: UTF8.self) }),
                    name.utf8.count <= Self.maximumNameLength, fields[name] == nil,
                    var value = Self.decode(part[equals...].dropFirst())
                else { return nil }
                fields[name] = Secret(value)
                value.withUnsafeMutableBytes { wipe($0) }
            }
            return fields
        }
        guard let fields else { return nil }
        self.fields = fields
    }

    func secret(_ name: String) -> Secret? { fields[name] }

    /// Returns the field's text; nil if the field is missing or is not UTF-8.
    func text(_ name: String) -> String? {
        fields[name]?.withBytes { String(validating: $0, as: UTF8.self) }
    }

    private static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        // Avoids a reallocation, which would leave a copy of the password.
        bytes.reserveCapacity(text.count)
        var rest = text.makeIterator()
        while let byte = rest.next() {
            switch byte {
            case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                guard let high = rest.next().flatMap(Hex.value(of:)), let low = rest.next().flatMap(Hex.value(of:))
                else { return nil }
                bytes.append(high << 4 | low)
            default: bytes.append(byte)
            }
        }
        return bytes
    }
}

/// The cookies of a request (RFC 6265, 5.4), up to 32.
struct Cookies: Equatable {
    private let values: [String: String]

    init(_ header: String?) {
        var values: [String: String] = [:]
        for part in (header ?? "").split(separator: ";").prefix(32) {
            let pair = part.split(separator: "=", maxSplits: 1)
            guard pair.count == 2 else { continue }
            let name = pair[0].trimmingPrefix { $0 == " " }
            if values[String(name)] == nil { values[String(name)] = String(pair[1]) }
        }
        self.values = values
    }

    subscript(_ name: String) -> String? { values[name] }
}

extension BrowserRequest {
    /// Whether the page's script keeps an open page up to date. Such a request is not a sign of a user.
    var isLive: Bool { query == "live" }
}
