import AgentModel

/// The content of a network's QR code: `WIFI:T:WPA;S:HomeNet;P:correct horse;H:true;;`.
///
/// The format comes from ZXing and is not standardised. A backslash escapes `\`, `;`, `,`, `:` and `"`. Double quotes
/// around a value are dropped. Fields come in any order, and unknown ones are skipped.
public struct NetworkCode: Sendable, Equatable {
    public let network: NewNetwork

    /// Maximum length of the code in bytes.
    public static let maximumLength = 512

    public static let scheme = "WIFI:"

    public init(reading code: some Collection<UInt8>) throws(NetworkCodeError) {
        guard code.count <= Self.maximumLength, Self.begins(code) else { throw .notANetworkCode }
        let text = Secret(code.dropFirst(Self.scheme.utf8.count))
        var values = try text.withBytes { bytes throws(NetworkCodeError) in try Self.fields(bytes[...]) }
        defer { for name in values.keys { values[name]?.withUnsafeMutableBytes { wipe($0) } } }
        guard let name = values["S"] else { throw .missing("S") }
        let ssid: SSID
        do { ssid = try SSID(bytes: name) } catch { throw .impossibleName(error) }
        let password = values["P"].map { Secret($0) }.flatMap { $0.count == 0 ? nil : $0 }
        let kind =
            values["T"].map { String(decoding: $0, as: UTF8.self).uppercased() } ?? (password == nil ? "" : "WPA")
        let isHidden = values["H"].map { String(decoding: $0, as: UTF8.self).lowercased() == "true" } ?? false
        let security: Security?
        switch kind {
        case "", "NOPASS":
            guard password == nil else { throw .passwordOfOpenNetwork }
            network = NewNetwork(ssid: ssid, credential: .none, isHidden: isHidden)
            return
        case "WPA", "WPA2", "WPA3", "WPA/WPA2": security = nil
        case "SAE": security = .wpa3
        case "WEP": throw .unsupported(.wep)
        case "WPA2-EAP": throw .unsupported(.enterprise)
        default: throw .unsupported(.unknown)
        }
        guard let password else { throw .missing("P") }
        do { try Passphrase.validate(password, for: security) } catch { throw .impossiblePassword(error) }
        network = NewNetwork(ssid: ssid, credential: .password(password), security: security, isHidden: isHidden)
    }

    private static func begins(_ code: some Collection<UInt8>) -> Bool {
        code.prefix(scheme.utf8.count).elementsEqual(scheme.utf8) { byte, letter in
            byte == letter || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) && byte & 0xdf == letter
        }
    }

    /// Reads all fields, up to the empty field that ends the code or up to the end of the text.
    private static func fields(_ text: Slice<UnsafeRawBufferPointer>) throws(NetworkCodeError) -> [String: [UInt8]] {
        var fields: [String: [UInt8]] = [:]
        var rest = text
        while let first = rest.first, first != UInt8(ascii: ";") {
            guard let colon = rest.firstIndex(of: UInt8(ascii: ":")) else { throw .malformed }
            let name = String(decoding: rest[..<colon], as: UTF8.self).uppercased()
            rest = rest[colon...].dropFirst()
            let value = try value(&rest)
            guard ["T", "S", "P", "H"].contains(name) else { continue }
            guard fields.updateValue(value, forKey: name) == nil else { throw .repeated(name) }
        }
        return fields
    }

    /// Removes a value and its semicolon from `rest`, and returns the value.
    private static func value(_ rest: inout Slice<UnsafeRawBufferPointer>) throws(NetworkCodeError) -> [UInt8] {
        var value: [UInt8] = []
        value.reserveCapacity(maximumLength)
        var quotes: [Int] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: ";"): return unquoted(value, quotes)
            case UInt8(ascii: "\\"):
                guard let escaped = rest.popFirst() else { throw .malformed }
                value.append(escaped)
            default:
                if byte == UInt8(ascii: "\"") { quotes.append(value.count) }
                value.append(byte)
            }
        }
        throw .malformed
    }

    /// - Parameter quotes: indexes of unescaped double quotes in `value`.
    private static func unquoted(_ value: [UInt8], _ quotes: [Int]) -> [UInt8] {
        quotes == [0, value.count - 1] && value.count > 1 ? Array(value.dropFirst().dropLast()) : value
    }
}

/// An error in a network's code. Errors never repeat passwords.
public enum NetworkCodeError: Error, Sendable, Equatable {
    case notANetworkCode
    /// A field has no value, or no end.
    case malformed
    case missing(String)
    case repeated(String)
    case impossibleName(InvalidSSID)
    case impossiblePassword(InvalidPassphrase)
    case passwordOfOpenNetwork
    case unsupported(Security)
}

extension NetworkCodeError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notANetworkCode: "not a network's code: it must begin with WIFI:"
        case .malformed:
            "the network's code is damaged: each field must end with a semicolon, and the code with another one"
        case .missing(let name): "the network's code is incomplete: it has no \(name)"
        case .repeated(let name): "the network's code has more than one \(name)"
        case .impossibleName(let error): "the network's code: \(error)"
        case .impossiblePassword(let error): "the network's code: \(error)"
        case .passwordOfOpenNetwork: "the network's code has a password for a network without one"
        case .unsupported(.wep): "the network's code is for a WEP network, which altnet never joins"
        case .unsupported(.enterprise):
            "the network's code is for an enterprise network: 'altnet backups add --eap' stores it with certificates"
        case .unsupported: "the network's code has an unknown type: use WPA, SAE or nopass"
        }
    }
}
