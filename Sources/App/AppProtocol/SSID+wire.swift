import AgentModel

/// The members of ``SSID/JSONMembers``, for errors.
private enum SSIDKeys: String, CodingKey {
    case ssid, ssidHex
}

extension Decoder {
    /// The SSID of the object being read, nil where it has none.
    package func ssidIfPresent() throws -> SSID? {
        let members = try SSID.JSONMembers(from: self)
        do throws(SSID.InvalidJSONMembers) {
            return try members.name
        } catch {
            switch error {
            case .notHex:
                throw ProtocolError.malformed(at: codingPath + [SSIDKeys.ssidHex], "is not pairs of hexadecimal digits")
            case .both:
                throw ProtocolError.malformed(at: codingPath + [SSIDKeys.ssid], "and ssidHex exclude each other")
            case .invalid(let reason):
                let field = ProtocolError.fieldName(codingPath + [members.ssid == nil ? SSIDKeys.ssidHex : .ssid])
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

/// An SSID in a list.
struct WireSSID: Codable {
    let ssid: SSID

    init(_ ssid: SSID) { self.ssid = ssid }

    init(from decoder: any Decoder) throws { ssid = try decoder.ssid() }

    func encode(to encoder: any Encoder) throws { try encoder.encode(ssid) }
}
