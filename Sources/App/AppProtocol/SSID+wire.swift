import AgentModel

/// The two names under which an SSID travels: `ssid` as text where its bytes are valid UTF-8, else `ssidHex`. On input
/// it is exactly one of them.
private enum SSIDKeys: String, CodingKey {
    case ssid, ssidHex
}

extension Decoder {
    /// The SSID of the object being read, nil where it has none.
    package func ssidIfPresent() throws -> SSID? {
        let container = try container(keyedBy: SSIDKeys.self)
        let text = try container.decodeIfPresent(String.self, forKey: .ssid)
        let hex = try container.decodeIfPresent(String.self, forKey: .ssidHex)
        let bytes: [UInt8]
        switch (text, hex) {
        case (nil, nil): return nil
        case (let text?, nil): bytes = Array(text.utf8)
        case (nil, let hex?):
            guard let parsed = Hex.bytes(hex) else {
                throw ProtocolError.malformed(at: codingPath + [SSIDKeys.ssidHex], "is not pairs of hexadecimal digits")
            }
            bytes = parsed
        case (_?, _?):
            throw ProtocolError.malformed(at: codingPath + [SSIDKeys.ssid], "and ssidHex exclude each other")
        }
        do {
            return try SSID(bytes: bytes)
        } catch {
            let field = ProtocolError.fieldName(codingPath + [text == nil ? SSIDKeys.ssidHex : .ssid])
            throw ProtocolError(.invalidSsid, "\(error)", details: ["field": .text(field)])
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
        guard let ssid else { return }
        var container = container(keyedBy: SSIDKeys.self)
        if let text = ssid.text {
            try container.encode(text, forKey: .ssid)
        } else {
            try container.encode(Hex.string(ssid.bytes), forKey: .ssidHex)
        }
    }
}

/// An SSID in a list.
struct WireSSID: Codable {
    let ssid: SSID

    init(_ ssid: SSID) { self.ssid = ssid }

    init(from decoder: any Decoder) throws { ssid = try decoder.ssid() }

    func encode(to encoder: any Encoder) throws { try encoder.encode(ssid) }
}
