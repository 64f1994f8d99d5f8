import AgentModel
import FoundationEssentials

/// Airtime of one station's sent and received frames, including acknowledgements.
public struct AirUse: Sendable {
    public private(set) var frames = 0
    public private(set) var time = Duration.zero

    /// Adds a frame that `hwsim0` captured.
    mutating func add(bytes: Int, rate: Int) {
        frames += 1
        time += Self.time(of: bytes, rate: rate)
    }

    /// Returns the airtime of a frame.
    ///
    /// DSSS: IEEE 802.11-2020, 16.2.2.2 with a long preamble and header of 192 µs. OFDM: 17.4.3.
    /// - Parameter rate: in units of 500 kbit/s; 0 counts as 1 Mbit/s. Rates outside the OFDM set count as DSSS.
    static func time(of bytes: Int, rate: Int) -> Duration {
        let bits = (bytes + checksum) * 8
        guard [12, 18, 24, 36, 48, 72, 96, 108].contains(rate) else {
            return .microseconds(192 + bits * 2 / max(rate, 2))
        }
        let bitsOfSymbol = rate * 2
        return .microseconds(20 + 4 * ((16 + bits + 6 + bitsOfSymbol - 1) / bitsOfSymbol))
    }

    private static let checksum = 4
}

extension Lab {
    /// Measures a station's airtime from now on, for this duration.
    public func airUse(of station: BSSID, for time: Duration) async throws -> AirUse {
        let path = "\(directory)/air.pcap"
        let before = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
        try await Task.sleep(for: time)
        // Packets in the file are complete, because of tcpdump's option `-U`.
        return AirUse(of: station, in: [UInt8](try Data(contentsOf: URL(filePath: path)).dropFirst(before)))
    }
}

extension AirUse {
    /// - Parameter packets: records of a pcap file with mac80211_hwsim's radiotap headers (`hwsim_radiotap_hdr`, and a
    ///   shorter one for acknowledgements).
    init(of station: BSSID, in packets: [UInt8]) {
        var rest = packets[...]
        while rest.count >= 16 {
            let length = Self.number(rest.dropFirst(8).prefix(4))
            let packet = rest.dropFirst(16).prefix(length)
            rest = rest.dropFirst(16 + length)
            guard packet.count >= 8 else { continue }
            let header = Self.number(packet.dropFirst(2).prefix(2))
            let hasClock = Self.number(packet.dropFirst(4).prefix(4)) & 1 != 0
            let frame = packet.dropFirst(header)
            let (receiver, sender) = (frame.dropFirst(4).prefix(6), frame.dropFirst(10).prefix(6))
            guard receiver.elementsEqual(station.bytes) || sender.elementsEqual(station.bytes) else { continue }
            // A header with a clock has eight bytes of clock, flags, and the rate. Acknowledgements have neither and
            // use a basic rate.
            let rate = hasClock ? packet.dropFirst(17).first.map(Int.init) ?? 0 : 12
            add(bytes: frame.count, rate: rate)
        }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> Int {
        bytes.reversed().reduce(0) { $0 << 8 | Int($1) }
    }
}
