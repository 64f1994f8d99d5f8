import AgentModel

/// A channel of 20 MHz in this firmware's format ("802.11ac chanspecs").
struct ChannelSpec: Hashable {
    let value: UInt16

    init(value: UInt16) { self.value = value }

    /// - Returns: nil for a frequency without a channel number, and for 6 GHz.
    init?(_ frequency: Frequency) {
        guard let channel = frequency.channel, channel <= 0xff else { return nil }
        switch frequency.band {
        case .twoPointFour: value = 0x1000 | UInt16(channel)
        case .five: value = 0xd000 | UInt16(channel)
        case .six: return nil
        }
    }

    /// Centre frequency; nil for an invalid channel number.
    var frequency: Frequency? {
        let channel = Int(value & 0xff)
        let isTwoPointFour = value & 0xc000 == 0
        let megahertz = isTwoPointFour ? (channel == 14 ? 2484 : 2407 + 5 * channel) : 5000 + 5 * channel
        let frequency = Frequency(megahertz: megahertz)
        return frequency.channel == channel ? frequency : nil
    }
}

struct ChannelPlan: Equatable {
    private let channels: [ChannelSpec]
    private let isWorld: Bool

    /// - Parameter country: two letters (ISO 3166-1). Unknown countries get the world domain.
    init(country: String) {
        let twoPointFour: ClosedRange<Int>
        let five: [Int]
        switch country {
        case "US", "CA", "TW": (twoPointFour, five) = (1...11, Self.low + Self.middle + Self.high)
        case "CN": (twoPointFour, five) = (1...13, Self.low + Self.high)
        case "DE", "FR", "GB", "JP": (twoPointFour, five) = (1...13, Self.low + Self.middle)
        default: (twoPointFour, five) = (1...13, Self.low + Self.middle + Self.high)
        }
        isWorld = !["US", "CA", "TW", "CN", "DE", "FR", "GB", "JP"].contains(country)
        channels =
            twoPointFour.map { ChannelSpec(value: 0x1000 | UInt16($0)) }
            + five.map { ChannelSpec(value: 0xd000 | UInt16($0)) }
    }

    private static let low = Array(stride(from: 36, through: 64, by: 4))
    private static let middle = Array(stride(from: 100, through: 140, by: 4))
    private static let high = Array(stride(from: 149, through: 165, by: 4))

    /// Value of the variable "chanspecs": the number of channels, then each channel in 32 bits.
    var list: [UInt8] {
        var list: [UInt8] = []
        list.append(little: UInt32(channels.count))
        for channel in channels { list.append(little: UInt32(channel.value)) }
        return list
    }

    var count: Int { channels.count }

    /// Returns the firmware's flags of a channel; 0 if the channel is unavailable.
    func flags(of channel: ChannelSpec) -> UInt32 {
        guard channels.contains(channel) else { return 0 }
        let number = channel.value & 0xff
        let isFive = channel.value & 0xc000 != 0
        let hasRadar = isFive && (52...144).contains(number)
        let isPassive = hasRadar || isWorld && (isFive || number > 11)
        return 0x3 | (isFive ? 0x4 : 0) | (hasRadar ? 0x8 : 0) | (isPassive ? 0x20 : 0)
    }

    func isPassive(_ channel: ChannelSpec) -> Bool { flags(of: channel) & 0x20 != 0 }

    var all: [ChannelSpec] { channels }
}
