import AgentModel

/// A BSS as received by the hidden station.
struct AirBSS: Equatable {
    var bssid: BSSID
    var frequency: Frequency
    /// Signal in dBm.
    var signal: Int
    /// Beacon interval in units of 1024 µs.
    var beaconInterval: UInt16 = 100
    var capability: UInt16 = 0
    var lastSeen: Instant
    var elements: [UInt8]

    /// Returns the body of the first element with this ID (IEEE 802.11-2020, 9.4.2); nil if the BSS has none.
    func element(_ id: UInt8) -> ArraySlice<UInt8>? { Elements.first(id, in: elements[...]) }
}

enum Elements {
    static let ssid: UInt8 = 0
    static let rates: UInt8 = 1
    static let channel: UInt8 = 3
    static let trafficIndication: UInt8 = 5
    static let highThroughput: UInt8 = 45
    static let rsn: UInt8 = 48
    static let moreRates: UInt8 = 50
    static let vendor: UInt8 = 221
    static let rsnExtension: UInt8 = 244

    /// Returns the body of the first element with this ID; nil if there is none. Stops at a truncated element.
    static func first(_ id: UInt8, in bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        var rest = bytes
        while let kind = rest.first, let length = rest.little(1, as: UInt8.self), let body = rest.bytes(2, Int(length))
        {
            if kind == id { return body }
            rest = rest.dropFirst(2 + body.count)
        }
        return nil
    }
}

extension AirBSS {
    /// The firmware's record of the BSS, version 109: 128 bytes, little-endian, then the elements.
    var record: [UInt8] {
        // Limit the elements, because a transfer has at most 1600 bytes.
        let elements = elements.prefix(Self.longestElements)
        let channel = ChannelSpec(frequency)
        var record = [UInt8](repeating: 0, count: 128)
        record.put(little: UInt32(109), at: 0)
        record.put(bssid.bytes, at: 8)
        record.put(little: beaconInterval, at: 14)
        record.put(little: capability, at: 16)
        if let ssid = element(Elements.ssid), ssid.count <= 32 {
            record[18] = UInt8(ssid.count)
            record.put(ssid, at: 19)
        }
        if let rates = element(Elements.rates)?.prefix(16) {
            record.put(little: UInt32(rates.count), at: 52)
            record.put(rates, at: 56)
        }
        record.put(little: channel?.value ?? 0, at: 72)
        record[76] = element(Elements.trafficIndication)?.little(1, as: UInt8.self) ?? 0
        record.put(little: Int16(clamping: signal), at: 78)
        record.put(little: Int8(clamping: Self.noise), at: 80)
        record[81] = element(Elements.highThroughput) == nil ? 0 : 1
        record[88] = UInt8(truncatingIfNeeded: channel?.value ?? 0)
        record[96] = 4  // The signal was measured on this channel.
        record.put(little: UInt16(128), at: 116)
        record.put(little: UInt32(elements.count), at: 120)
        record.put(little: UInt16(clamping: signal - Self.noise), at: 124)
        record += elements
        record += repeatElement(0, count: (4 - record.count % 4) % 4)
        record.put(little: UInt32(record.count), at: 4)
        return record
    }

    static let longestElements = 1300
    /// Noise level in dBm, equal on all channels.
    static let noise = -95

    func scanResult(syncID: UInt16) -> [UInt8] { Self.scanResult(syncID: syncID, count: 1, record: record) }

    static func scanEnd(syncID: UInt16) -> [UInt8] { scanResult(syncID: syncID, count: 0, record: []) }

    private static func scanResult(syncID: UInt16, count: UInt16, record: [UInt8]) -> [UInt8] {
        var data: [UInt8] = []
        data.append(little: UInt32(12 + record.count))
        data.append(little: UInt32(109))
        data.append(little: syncID)
        data.append(little: count)
        return data + record
    }
}
