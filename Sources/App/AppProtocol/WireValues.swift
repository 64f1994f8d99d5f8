import AgentModel

/// A value that travels as one JSON string or number.
package protocol WireScalar: Codable {
    associatedtype Wire: Codable

    /// - Returns: nil for an invalid value.
    init?(wire: Wire)
    var wire: Wire { get }

    /// Text that completes the sentence "FIELD ..." about a refused value.
    static var complaint: String { get }
}

extension WireScalar where Self: RawRepresentable<String> {
    package init?(wire: String) { self.init(rawValue: wire) }
    package var wire: String { rawValue }
}

extension BSSID: WireScalar {
    package init?(wire: String) { self.init(wire) }
    package var wire: String { description }
    package static var complaint: String { "is not a BSSID such as 02:00:00:00:01:00" }
}

extension Frequency: WireScalar {
    package init?(wire: Int) {
        guard Self.readable.contains(wire) else { return nil }
        self.init(megahertz: wire)
    }
    package var wire: Int { megahertz }
    package static var complaint: String { "is not a frequency in MHz" }
}

extension Security: WireScalar {
    /// Reads unknown types of newer devices as `unknown`.
    package init?(wire: String) { self = Security(rawValue: wire) ?? .unknown }
    package static var complaint: String { "is not a security type" }
}

extension Uplink: WireScalar {
    package init?(wire: String) { self = Uplink(rawValue: wire) ?? .other }
    package static var complaint: String { "is not an uplink" }
}

extension JoinFailure: WireScalar {
    package init?(wire: String) { self = JoinFailure(rawValue: wire) ?? .rejected }
    package static var complaint: String { "is not a join failure" }
}

extension Decoder {
    /// Returns an error about the value being read.
    package func malformed(_ complaint: String) -> ProtocolError { .malformed(at: codingPath, complaint) }
}

extension ProtocolError {
    package static func malformed(at path: [any CodingKey], _ complaint: String) -> ProtocolError {
        malformed(path.memberName, complaint)
    }

    static func malformed(_ field: String, _ complaint: String) -> ProtocolError {
        guard !field.isEmpty else { return ProtocolError(.malformed, "the line is not a JSON object") }
        return ProtocolError(.malformed, "\(field) \(complaint)", details: ["field": .text(field)])
    }

    /// Adds the path of the wrong member, unless the error already has one.
    /// - Parameter field: a path such as `body.networks[1].sealed`.
    package func about(_ field: String) -> ProtocolError {
        ProtocolError(code, message, details: details.merging(["field": .text(field)]) { known, _ in known })
    }

}

/// Index in a list, from 0.
struct ListIndex: CodingKey {
    let intValue: Int?
    let stringValue: String

    init(_ index: Int) { (intValue, stringValue) = (index, String(index)) }
    init?(intValue: Int) { self.init(intValue) }
    init?(stringValue: String) { return nil }
}

extension KeyedDecodingContainer {
    package func decode<Value: WireScalar>(_ type: Value.Type, forKey key: Key) throws -> Value {
        guard let value = Value(wire: try decode(Value.Wire.self, forKey: key)) else {
            throw ProtocolError.malformed(at: codingPath + [key], Value.complaint)
        }
        return value
    }

    package func decodeIfPresent<Value: WireScalar>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        guard contains(key), try !decodeNil(forKey: key) else { return nil }
        return try decode(type, forKey: key)
    }
}

extension KeyedEncodingContainer {
    package mutating func encode<Value: WireScalar>(_ value: Value, forKey key: Key) throws {
        try encode(value.wire, forKey: key)
    }

    package mutating func encodeIfPresent<Value: WireScalar>(_ value: Value?, forKey key: Key) throws {
        try encodeIfPresent(value?.wire, forKey: key)
    }
}

/// The members of ``SSID/JSONMembers``, for errors.
private enum SSIDKeys: String, CodingKey {
    case ssid, ssidHex
}

extension Decoder {
    package func ssidIfPresent() throws -> SSID? {
        let members = try SSID.JSONMembers(from: self)
        do throws(SSID.InvalidJSONMembers) {
            return try members.name
        } catch {
            switch error {
            case .notHex:
                throw ProtocolError.malformed(at: codingPath + [SSIDKeys.ssidHex], "needs pairs of hexadecimal digits")
            case .both:
                throw ProtocolError.malformed(at: codingPath + [SSIDKeys.ssid], "and ssidHex exclude each other")
            case .invalid(let reason):
                let field = (codingPath + [members.ssid == nil ? SSIDKeys.ssidHex : .ssid]).memberName
                throw ProtocolError(.invalidSsid, "\(reason)", details: ["field": .text(field)])
            }
        }
    }

    package func ssid() throws -> SSID {
        guard let ssid = try ssidIfPresent() else {
            throw ProtocolError.malformed(at: codingPath + [SSIDKeys.ssid], "or ssidHex is missing")
        }
        return ssid
    }
}

extension Encoder {
    package func encode(_ ssid: SSID?) throws {
        if let ssid { try SSID.JSONMembers(ssid).encode(to: self) }
    }
}

struct WireSSID: Codable {
    let ssid: SSID

    init(_ ssid: SSID) { self.ssid = ssid }

    init(from decoder: any Decoder) throws { ssid = try decoder.ssid() }

    func encode(to encoder: any Encoder) throws { try encoder.encode(ssid) }
}
