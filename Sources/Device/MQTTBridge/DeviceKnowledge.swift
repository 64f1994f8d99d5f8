import AgentModel
import AppProtocol

struct DeviceKnowledge: Sendable {
    private(set) var capabilities: Capabilities?
    private(set) var topics: Topics?
    private(set) var network: NetworkStatus?
    private(set) var backups: BackupList?
    private(set) var outages = OutageLog()
    /// Newest firmware version, from the fleet's owner; nil if unknown.
    private var latestFirmware: String?
    /// Reason of the last decision about a lost or failed link.
    private var trouble: String?
    private var lost = 0

    var isDiscoveryDue = false
    var isBackupsDue = false
    private var isStatusDue = false
    /// Time at which the outage counters of the day restart.
    private(set) var midnight: Instant?
    /// Time at which an unchanged status is sent again.
    private(set) var repetition: Instant?
    private var signal: SignalReading?
    private var lastReportedSignal: (reading: SignalReading, at: Instant)?
    /// Measurement that waits for the end of the interval.
    private(set) var heldSignal: (reading: SignalReading, due: Instant)?

    struct Choice: Sendable, Equatable {
        let name: String
        let hash: NetworkHash
    }

    /// True once the agent has sent everything that the retained topics need.
    var isKnown: Bool { capabilities != nil && network != nil && backups != nil }

    mutating func learn(_ capabilities: Capabilities, _ topics: Topics) {
        guard self.capabilities != capabilities || self.topics != topics else { return }
        (self.capabilities, self.topics) = (capabilities, topics)
        (isDiscoveryDue, isStatusDue, isBackupsDue) = (true, true, true)
    }

    mutating func learn(_ list: BackupList) {
        guard list != backups else { return }
        let before = choices
        backups = list
        isBackupsDue = true
        if choices != before { (isDiscoveryDue, isStatusDue) = (true, true) }
    }

    /// Address of the device's page; nil while the device has no address.
    func pageAddress(port: Int) -> String? {
        network?.addresses.first.map { "https://\($0.contains(":") ? "[\($0)]" : $0):\(port)/" }
    }

    /// Stored networks in the stored order, each name once.
    var choices: [Choice] {
        guard let backups else { return [] }
        var choices: [Choice] = []
        for network in backups.stored {
            let choice = Choice(name: network.ssid.description, hash: network.hash)
            if !choices.contains(where: { $0.name == choice.name }) { choices.append(choice) }
        }
        return choices
    }

    mutating func recordLatest(_ version: String?) {
        guard version != latestFirmware else { return }
        latestFirmware = version
        isStatusDue = true
    }

    mutating func record(_ reading: SignalReading) { signal = reading }

    mutating func record(lost: Int) {
        guard lost != self.lost else { return }
        self.lost = lost
        isStatusDue = true
    }

    mutating func record(_ decision: Decision) {
        switch decision.kind.rawValue {
        case "lost", "failed", "unusable": trouble = decision.reason.rawValue
        case "online", "usable": trouble = nil
        default: break
        }
    }

    /// - Returns: the outage that ends with this state.
    mutating func record(_ network: NetworkStatus, _ moment: Bridge.Moment) -> OutageMessage? {
        let wasOnAir = self.network?.bssid
        if network != self.network { isStatusDue = true }
        let before = self.network
        self.network = network
        if network.deviceName != before?.deviceName || network.addresses.first != before?.addresses.first {
            isDiscoveryDue = true
        }
        // Drop measurements of the previous access point.
        if network.bssid != wasOnAir { (signal, heldSignal, lastReportedSignal) = (nil, nil, nil) }
        if let level = network.wifiSignal, signal == nil {
            signal = SignalReading(signal: level, bssid: network.bssid, frequency: network.frequency)
        }
        let outage = outages.record(
            isOut: !network.isConnected, reason: network.reason ?? trouble, at: moment.now, moment.time)
        if outage != nil { isStatusDue = true }
        midnight = outages.untilMidnight(moment.time).map { moment.now + $0 }
        return outage
    }

    /// True if the status has changed, must be repeated, or a new day begins.
    mutating func isStatusDue(at moment: Bridge.Moment) -> Bool {
        if let midnight, midnight <= moment.now {
            outages.turn(to: moment.time)
            self.midnight = outages.untilMidnight(moment.time).map { moment.now + $0 }
            return true
        }
        return isStatusDue || repetition.map { $0 <= moment.now } ?? false
    }

    mutating func status(_ moment: Bridge.Moment) -> StatusMessage? {
        guard let capabilities, let network else { return nil }
        isStatusDue = false
        repetition = moment.now + BridgeLimits.statusInterval
        outages.turn(to: moment.time)
        let name = network.ssid?.description
        return StatusMessage(
            told: moment.time, deviceId: capabilities.deviceId,
            firmware: .init(installed: capabilities.firmware, latest: latestFirmware ?? capabilities.firmware),
            name: name,
            selected: choices.first { $0.name == name }?.name ?? HomeAssistantDevice.noChoice,
            network: network,
            outages: .init(
                today: outages.count, secondsToday: Int(outages.total.milliseconds / 1000), last: outages.last),
            lost: lost)
    }

    /// Returns a changed measurement, at most once per interval.
    mutating func nextSignal(at now: Instant, interval: Duration) -> SignalReading? {
        guard let reading = signal ?? heldSignal?.reading else { return nil }
        signal = nil
        if let told = lastReportedSignal {
            guard told.reading != reading else {
                heldSignal = nil
                return nil
            }
            guard told.at + interval <= now else {
                heldSignal = (reading, told.at + interval)
                return nil
            }
        }
        heldSignal = nil
        lastReportedSignal = (reading, now)
        return reading
    }
}

extension NetworkStatus {
    /// Connectivity problem; nil without an uplink.
    fileprivate var reason: String? { carriedBy == nil ? nil : connectivity?.problem?.rawValue }
}
