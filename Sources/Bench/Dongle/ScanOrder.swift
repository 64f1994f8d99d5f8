import AgentModel

/// A scan that the driver asks for ("escan").
struct ScanOrder: Equatable {
    let syncID: UInt16
    /// The names that are called; empty where the radio only listens.
    let ssids: [SSID?]
    /// Empty for all.
    let channels: [ChannelSpec]
    /// On each channel, in milliseconds; nil for the firmware's own setting.
    let active: Int?
    let passive: Int?

    static let fixedLength = 8 + 64
    /// As many as the firmware takes.
    static let mostChannels = 128
    static let mostSSIDs = 16
    private static let passiveKind: UInt8 = 1

    /// A scan of the firmware's own, for one network on one channel or on all.
    init(for ssid: SSID, on channel: ChannelSpec? = nil) {
        (syncID, ssids, channels, active, passive) = (0, [ssid], channel.map { [$0] } ?? [], nil, nil)
    }

    /// - Parameter argument: of the variable `escan`, whose action is to start one.
    init(_ argument: ArraySlice<UInt8>) throws(DongleError) {
        let parameters = argument.dropFirst(8)
        guard argument.count >= Self.fixedLength, let syncID = argument.little(6, as: UInt16.self),
            let counts = parameters.little(60, as: UInt32.self), let kind = parameters.little(43, as: UInt8.self),
            let active = parameters.little(48, as: Int32.self), let passive = parameters.little(52, as: Int32.self)
        else { throw .malformed("scan of \(argument.count) bytes") }
        self.syncID = syncID
        self.active = active > 0 ? Int(active) : nil
        self.passive = passive > 0 ? Int(passive) : nil
        let channelCount = Int(counts & 0xffff)
        let nameCount = Int(counts >> 16)
        guard channelCount <= Self.mostChannels, nameCount <= Self.mostSSIDs else {
            throw .malformed("scan of \(channelCount) channels and \(nameCount) names")
        }
        var channels: [ChannelSpec] = []
        for number in 0..<channelCount {
            guard let value = parameters.little(64 + 2 * number, as: UInt16.self) else {
                throw .malformed("channels of a scan")
            }
            channels.append(ChannelSpec(value: value))
        }
        self.channels = channels
        let names = parameters.dropFirst((64 + 2 * channelCount + 3) & ~3)
        var ssids: [SSID?] = []
        if kind != Self.passiveKind {
            for number in 0..<nameCount { ssids.append(try Self.name(names.dropFirst(36 * number))) }
            if ssids.isEmpty { ssids = [try Self.name(parameters)] }
        }
        self.ssids = ssids
    }

    /// A name with its length before it; nil for the empty one, which calls all networks.
    private static func name(_ bytes: ArraySlice<UInt8>) throws(DongleError) -> SSID? {
        guard let length = bytes.little(0, as: UInt32.self), length <= 32, let name = bytes.bytes(4, Int(length)) else {
            throw .malformed("name of a network")
        }
        return name.isEmpty ? nil : try? SSID(bytes: name)
    }

    /// What the variable asks for.
    enum Action: Equatable {
        case start
        case abort

        init(_ argument: ArraySlice<UInt8>) throws(DongleError) {
            switch argument.little(4, as: UInt16.self) {
            case 1: self = .start
            case 3: self = .abort
            default: throw .malformed("action of a scan")
            }
        }
    }
}

/// How long the firmware stays on a channel, as the driver has set it.
struct ScanTimes: Equatable {
    /// In milliseconds, where it may send.
    var active = 40
    /// In milliseconds, where it may only listen, or is asked for no name.
    var passive = 120

    /// From the order until its results, at least.
    func duration(of order: ScanOrder, in plan: ChannelPlan) -> Duration {
        let channels = order.channels.isEmpty ? plan.all : order.channels
        let total = channels.reduce(0) { total, channel in
            let isPassive = order.ssids.isEmpty || plan.isPassive(channel)
            return total + (isPassive ? order.passive ?? passive : order.active ?? active)
        }
        return .milliseconds(total)
    }
}
