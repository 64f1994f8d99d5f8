import AgentModel

/// A scan that the driver requests (variable "escan").
struct FirmwareScanOrder: Equatable {
    let syncID: UInt16
    /// SSIDs to probe for, nil for any network; empty for a passive scan.
    let ssids: [SSID?]
    /// Channels to scan; empty for all channels.
    let channels: [ChannelSpec]
    /// Active dwell time per channel in milliseconds; nil for the firmware's setting.
    let active: Int?
    let passive: Int?

    static let fixedLength = 8 + 64
    static let mostChannels = 128
    static let mostSSIDs = 16
    private static let passiveKind: UInt8 = 1

    /// Creates a scan for one network on one channel or all channels, which the firmware starts without the driver.
    init(for ssid: SSID, on channel: ChannelSpec? = nil) {
        (syncID, ssids, channels, active, passive) = (0, [ssid], channel.map { [$0] } ?? [], nil, nil)
    }

    /// - Parameter argument: value of the variable "escan" with action 1 (start).
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

    /// Parses a length and a name. Returns nil for an empty name, which probes for all networks.
    private static func name(_ bytes: ArraySlice<UInt8>) throws(DongleError) -> SSID? {
        guard let length = bytes.little(0, as: UInt32.self), length <= 32, let name = bytes.bytes(4, Int(length)) else {
            throw .malformed("name of a network")
        }
        return name.isEmpty ? nil : try? SSID(bytes: name)
    }

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

struct ScanTimes: Equatable {
    /// Active dwell time in milliseconds.
    var active = 40
    /// Passive dwell time in milliseconds: on channels without permission to send, or for a scan without SSIDs.
    var passive = 120

    /// Returns the minimum time from the order to its results.
    func duration(of order: FirmwareScanOrder, in plan: ChannelPlan) -> Duration {
        let channels = order.channels.isEmpty ? plan.all : order.channels
        let total = channels.reduce(0) { total, channel in
            let isPassive = order.ssids.isEmpty || plan.isPassive(channel)
            return total + (isPassive ? order.passive ?? passive : order.active ?? active)
        }
        return .milliseconds(total)
    }
}
