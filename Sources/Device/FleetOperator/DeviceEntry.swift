import AgentModel
import AppProtocol
import MQTTBridge

/// One device of a fleet, read from the messages that the broker retains.
public struct DeviceEntry: Sendable, Equatable {
    public let id: String
    /// Whether the device is online; nil if the broker retains no availability message.
    public var isOnline: Bool?
    public var status: StatusMessage?
    public var signal: SignalReading?
    public var backups: BackupList?

    public init(id: String) { self.id = id }

    /// Signs that the device may soon be unreachable or does not work properly.
    public enum Risk: String, Sendable, Codable, CaseIterable {
        /// Fewer than two stored networks are known to work.
        case oneNetwork
        /// The Wi-Fi signal is below ``weakSignal``.
        case weakSignal
        /// The device does not reach the internet or the servers that it needs.
        case notConnected
        /// The radio has a fault.
        case radio
        /// The device had at least ``manyOutages`` outages today.
        case outages
    }

    /// Signal in dBm below which the device is at risk, on every band. The failover policy uses other thresholds: -70
    /// dBm on 2.4 GHz and -76 dBm on 5 GHz.
    public static let weakSignal = -75
    public static let manyOutages = 3
    /// Maximum age of a network's last sighting. A network that was seen earlier does not count as working.
    static let recent = Duration.seconds(86_400)

    /// Latest time in the device's messages, by the device's clock; nil if the messages contain no time.
    public var lastSeen: Timestamp? {
        [status?.told, status?.network.since, status?.outages.last?.ended, backups?.newestSight].compactMap(\.self)
            .max()
    }

    /// Wi-Fi signal in dBm; nil without Wi-Fi.
    public var level: Int? { status?.network.wifiSignal.map { signal?.signal ?? $0 } }

    public var risks: [Risk] {
        guard let status else { return [] }
        var risks: [Risk] = []
        if let backups, Self.workingNetworks(backups, status, at: lastSeen) < 2 { risks.append(.oneNetwork) }
        if let level, level < Self.weakSignal { risks.append(.weakSignal) }
        if !status.network.isConnected { risks.append(.notConnected) }
        if status.network.radio != nil { risks.append(.radio) }
        if status.outages.today >= Self.manyOutages { risks.append(.outages) }
        return risks
    }

    /// Counts the stored networks that work, by SSID. A network works if the device is online in it, or has seen it
    /// within ``recent`` and reports no failure.
    private static func workingNetworks(_ backups: BackupList, _ status: StatusMessage, at time: Timestamp?) -> Int {
        let working = backups.stored.filter { network in
            if status.network.state == .online, network.ssid == status.network.ssid { return true }
            guard network.lastFailure == nil, let seen = network.lastSeen, let time else { return false }
            return time.millisecondsSince1970 - seen.millisecondsSince1970 <= recent.milliseconds
        }
        return Set(working.map(\.ssid)).count
    }

    /// Current problem of the device, or else the reason of its last outage, as a code of the app protocol; nil if
    /// there is neither.
    public var reason: String? {
        status.flatMap { status in
            status.network.radio?.fault ?? status.network.connectivity?.problem?.rawValue
                ?? status.outages.last?.reason
        }
    }
}

extension BackupList {
    fileprivate var newestSight: Timestamp? { stored.compactMap(\.lastSeen).max() }
}

/// Selects devices of a fleet. A device must meet all conditions that are set.
public struct DeviceFilter: Sendable, Equatable {
    /// Minimum time since the device was last seen. Devices with an unknown time match too.
    public var unseenFor: Duration?
    /// Risks to select. A device must have at least one of them; nil selects every device.
    public var risks: Set<DeviceEntry.Risk>?
    public var reason: String?

    public init(unseenFor: Duration? = nil, risks: Set<DeviceEntry.Risk>? = nil, reason: String? = nil) {
        (self.unseenFor, self.risks, self.reason) = (unseenFor, risks, reason)
    }

    public func matches(_ device: DeviceEntry, at now: Timestamp) -> Bool {
        if let unseenFor, let seen = device.lastSeen,
            now.millisecondsSince1970 - seen.millisecondsSince1970 < unseenFor.milliseconds
        {
            return false
        }
        if let risks, risks.isDisjoint(with: device.risks) { return false }
        return reason == nil || reason == device.reason
    }
}

/// All devices for which the broker retains a message, by ID.
public struct Roster: Sendable {
    public private(set) var devices: [String: DeviceEntry] = [:]
    /// Number of ignored messages: malformed ones, and those of devices above the limit.
    public private(set) var strange = 0
    private let prefix: String

    /// Maximum number of devices, to limit memory. Messages of further devices are ignored.
    private static let most = 1_000_000

    public init(prefix: String) { self.prefix = prefix }

    public var subscriptions: [Subscription] {
        Part.allCases.map { Subscription(topic: "\(prefix)/+/\($0)", wantsRetained: true, keepsMark: false) }
    }

    private enum Part: String, CaseIterable { case availability, status, signal, backups }

    /// - Returns: ID of the device that sent the message; nil if the message was ignored.
    @discardableResult
    public mutating func record(_ message: IncomingMessage) -> String? {
        guard let (id, name) = Topics.device(of: message.topic, below: prefix), let part = Part(rawValue: name)
        else { return nil }
        guard devices[id] != nil || devices.count < Self.most else {
            strange += 1
            return nil
        }
        var device = devices[id] ?? DeviceEntry(id: id)
        // The payload is empty if the broker retains nothing.
        let payload = message.payload.isEmpty ? nil : message.payload
        do throws(ProtocolError) {
            switch part {
            case .availability: device.isOnline = payload.map { $0 == Array("online".utf8) }
            case .status:
                device.status = try payload.map { bytes throws(ProtocolError) in
                    try Line.decode(StatusMessage.self, from: bytes)
                }
            case .signal:
                device.signal = try payload.map { bytes throws(ProtocolError) in
                    try Line.decode(SignalReading.self, from: bytes)
                }
            case .backups:
                device.backups = try payload.map { bytes throws(ProtocolError) in
                    try Line.decode(BackupList.self, from: bytes)
                }
            }
        } catch {
            strange += 1
            return nil
        }
        devices[id] = device
        return id
    }
}
