import AgentModel
import AppProtocol
import MQTTBridge

/// One device of a fleet, read from the messages that the broker retains.
public struct DeviceEntry: Sendable, Equatable {
    public let id: String
    /// Availability; nil if the broker retains none of the device.
    public var isOnline: Bool?
    public var status: StatusMessage?
    public var signal: SignalReading?
    public var backups: BackupList?

    public init(id: String) { self.id = id }

    /// Signs that a device may be lost soon or does not do its work.
    public enum Risk: String, Sendable, Codable, CaseIterable {
        /// Fewer than two stored networks are known to work.
        case oneNetwork
        /// Wi-Fi signal below ``weakSignal``.
        case weakSignal
        /// The connection does not reach the required level.
        case notConnected
        case radio
        /// At least ``manyOutages`` outages today.
        case outages
    }

    /// Signal in dBm, for every band. The failover policy has thresholds of its own: -70 on 2.4 GHz, -76 on 5 GHz.
    public static let weakSignal = -75
    public static let manyOutages = 3
    /// Maximum age of a network's last sighting for it to count as present.
    static let recent = Duration.seconds(86_400)

    /// Latest time in the device's messages, by the device's clock; nil if they have none.
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

    /// Number of stored networks, by name, that work: in use and online, or seen within ``recent`` and without a
    /// failure.
    private static func workingNetworks(_ backups: BackupList, _ status: StatusMessage, at time: Timestamp?) -> Int {
        let working = backups.stored.filter { network in
            if status.network.state == .online, network.ssid == status.network.ssid { return true }
            guard network.lastFailure == nil, let seen = network.lastSeen, let time else { return false }
            return time.millisecondsSince1970 - seen.millisecondsSince1970 <= recent.milliseconds
        }
        return Set(working.map(\.ssid)).count
    }

    /// Current problem of the device, else the reason of its last outage: a code of the app protocol. Nil without
    /// either.
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
    /// Minimum time since the device was last seen. Devices without a time match too.
    public var unseenFor: Duration?
    /// Risks of which a device has at least one; nil to accept every device.
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
    /// Number of messages that could not be decoded, or that exceeded the limit of devices.
    public private(set) var strange = 0
    private let prefix: String

    /// Maximum number of devices; a broker may send any number. Further devices are ignored.
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
        // An empty payload means that the broker retains nothing.
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
