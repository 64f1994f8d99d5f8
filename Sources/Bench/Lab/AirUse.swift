import AgentModel
import FoundationEssentials

/// How much of the air one station takes: the frames that it sends and those sent to it, acknowledgements too.
public struct AirUse: Sendable {
    public private(set) var frames = 0
    public private(set) var time = Duration.zero

    /// One frame as `hwsim0` hears it.
    mutating func add(bytes: Int, rate: Int) {
        frames += 1
        time += Self.time(of: bytes, rate: rate)
    }

    /// By IEEE 802.11-2020, 16.2.2.2 (a long preamble and header of 192 µs) and 17.4.3.
    /// - Parameter rate: in half megabits a second; where it is none of OFDM's it is one of DSSS's, and 0 is 1 Mbit/s.
    static func time(of bytes: Int, rate: Int) -> Duration {
        let bits = (bytes + checksum) * 8
        guard [12, 18, 24, 36, 48, 72, 96, 108].contains(rate) else {
            return .microseconds(192 + bits * 2 / max(rate, 2))
        }
        let bitsOfSymbol = rate * 2
        return .microseconds(20 + 4 * ((16 + bits + 6 + bitsOfSymbol - 1) / bitsOfSymbol))
    }

    /// Which the capture leaves out.
    private static let checksum = 4
}

extension Lab {
    /// The air that one station takes for a while, from now on.
    public func airUse(of station: BSSID, for time: Duration) async throws -> AirUse {
        let path = "\(directory)/air.pcap"
        let before = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
        try await Task.sleep(for: time)
        // `tcpdump -U` writes whole packets.
        return AirUse(of: station, in: [UInt8](try Data(contentsOf: URL(filePath: path)).dropFirst(before)))
    }
}

extension AirUse {
    /// - Parameter packets: records of a pcap file, each with a radiotap header as mac80211_hwsim makes it
    ///   (`hwsim_radiotap_hdr`, and the shorter one of acknowledgements).
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
            // After a clock of eight bytes and the flags; acknowledgements have neither, and go at a basic rate.
            let rate = hasClock ? packet.dropFirst(17).first.map(Int.init) ?? 0 : 12
            add(bytes: frame.count, rate: rate)
        }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> Int {
        bytes.reversed().reduce(0) { $0 << 8 | Int($1) }
    }
}
