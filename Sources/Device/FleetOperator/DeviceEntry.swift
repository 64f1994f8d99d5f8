import AgentModel
import AppProtocol
import MQTTBridge

/// What a broker keeps of one device, as the owner of a fleet sees it.
public struct DeviceEntry: Sendable, Equatable {
    public let id: String
    /// Nil where the broker keeps no word of it.
    public var isOnline: Bool?
    public var status: StatusMessage?
    public var signal: SignalReading?
    public var backups: BackupList?

    public init(id: String) { self.id = id }

    /// Why a device may be lost soon, or does not do its work.
    public enum Risk: String, Sendable, Codable, CaseIterable {
        /// No stored network but the one that it is in is known to work: none was seen within a day and has not failed.
        case oneNetwork
        /// Wi-Fi below ``weakSignal``.
        case weakSignal
        /// The network leads less far than the device needs.
        case notConnected
        /// The radio has a fault.
        case radio
        /// ``manyOutages`` or more today.
        case outages
    }

    /// In dBm: that of the failover policy.
    public static let weakSignal = -75
    public static let manyOutages = 3
    /// For how long a network that was seen counts as one that is there.
    static let recent = Duration.seconds(86_400)

    /// When the device was certainly there: by its own clock; nil where it has told of no time.
    public var lastSeen: Timestamp? {
        [status?.told, status?.network.since, status?.outages.last?.ended, backups?.newestSight].compactMap(\.self)
            .max()
    }

    /// In dBm; nil without Wi-Fi.
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

    /// Stored networks that the device could be in, each name once.
    private static func workingNetworks(_ backups: BackupList, _ status: StatusMessage, at time: Timestamp?) -> Int {
        let working = backups.stored.filter { network in
            if status.network.state == .online, network.ssid == status.network.ssid { return true }
            guard network.lastFailure == nil, let seen = network.lastSeen, let time else { return false }
            return time.millisecondsSince1970 - seen.millisecondsSince1970 <= recent.milliseconds
        }
        return Set(working.map(\.ssid)).count
    }

    /// Why it is not as it should be, or was not last: a code of the app protocol. Nil where there was nothing.
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

/// Which devices of a fleet are meant.
public struct DeviceFilter: Sendable, Equatable {
    /// Those that were last seen this long ago, or longer.
    public var unseenFor: Duration?
    /// Those with one of these risks; nil for all, with any risk or none.
    public var risks: Set<DeviceEntry.Risk>?
    public var reason: String?

    public init(unseenFor: Duration? = nil, risks: Set<DeviceEntry.Risk>? = nil, reason: String? = nil) {
        (self.unseenFor, self.risks, self.reason) = (unseenFor, risks, reason)
    }

    public func takes(_ device: DeviceEntry, at now: Timestamp) -> Bool {
        if let unseenFor, let seen = device.lastSeen,
            now.millisecondsSince1970 - seen.millisecondsSince1970 < unseenFor.milliseconds
        {
            return false
        }
        if let risks, risks.isDisjoint(with: device.risks) { return false }
        return reason == nil || reason == device.reason
    }
}

/// All devices that a broker keeps something of, by their ids.
public struct Roster: Sendable {
    public private(set) var devices: [String: DeviceEntry] = [:]
    /// Messages that are none of a device, or that this version does not understand.
    public private(set) var strange = 0
    private let prefix: String
    private let most: Int

    /// - Parameters:
    ///   - prefix: of the devices' topics.
    ///   - most: devices beyond that are not taken up: a broker may send any number.
    public init(prefix: String, most: Int = 1_000_000) { (self.prefix, self.most) = (prefix, most) }

    /// What is to be heard for it.
    public var subscriptions: [Subscription] {
        Part.allCases.map { Subscription(topic: "\(prefix)/+/\($0)", wantsRetained: true, keepsMark: false) }
    }

    private enum Part: String, CaseIterable { case availability, status, signal, backups }

    /// - Returns: the device that it was of; nil for a message of none.
    @discardableResult
    public mutating func note(_ message: IncomingMessage) -> String? {
        guard let (id, name) = Topics.device(of: message.topic, below: prefix), let part = Part(rawValue: name)
        else { return nil }
        guard devices[id] != nil || devices.count < most else {
            strange += 1
            return nil
        }
        var device = devices[id] ?? DeviceEntry(id: id)
        // An empty message says that the broker is to keep nothing.
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
