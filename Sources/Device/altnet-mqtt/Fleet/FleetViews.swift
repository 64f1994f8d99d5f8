import AgentModel
import AppProtocol
import ArgumentParser
import FleetOperator
import Glibc
import MQTTBridge
import Terminal

struct DeviceView: Encodable {
    let deviceId: String
    /// Name of the device; missing without one.
    let deviceName: DeviceName?
    let online: Bool?
    let network: String?
    let signal: Int?
    let lastSeen: Timestamp?
    let risks: [DeviceEntry.Risk]
    let reason: String?
    let firmware: String?

    init(_ device: DeviceEntry) {
        (deviceId, online, network, signal) = (device.id, device.isOnline, device.status?.name, device.level)
        (lastSeen, risks, reason) = (device.lastSeen, device.risks, device.reason)
        firmware = device.status?.firmware.installed
        deviceName = device.status?.network.deviceName
    }

    static func table(_ devices: [DeviceEntry], now: Timestamp) -> Table {
        var table = Table(columns: [
            .init(title: "DEVICE", minimum: 12), .init(title: "NAME", minimum: 8, rank: 0), .init(title: "ONLINE"),
            .init(title: "VERSION", minimum: 7, rank: 2), .init(title: "NETWORK", minimum: 8, rank: 4),
            .init(title: "SIGNAL", isRightAligned: true, rank: 3), .init(title: "LAST SEEN", minimum: 8, rank: 5),
            .init(title: "RISK", minimum: 10, rank: 6), .init(title: "REASON", minimum: 8, rank: 1),
        ])
        table.rows = devices.map { device in
            let view = DeviceView(device)
            let seen = view.lastSeen.map {
                Age.ago(milliseconds: now.millisecondsSince1970 - $0.millisecondsSince1970)
            }
            return [
                .init(view.deviceId.printable), .init(view.deviceName?.description ?? ""),
                view.online.map { $0 ? .init("yes", .green) : .init("no", .red) } ?? .init("unknown", .dim),
                // Escape the device's texts, which are untrusted.
                .init(view.firmware?.printable ?? ""), .init(view.network?.printable ?? ""),
                .init(view.signal.map { "\($0) dBm" } ?? ""),
                .init(seen ?? "never"), .init(view.risks.map(\.rawValue).joined(separator: ", "), .yellow),
                .init(view.reason?.printable ?? ""),
            ]
        }
        return table
    }
}

extension Rollout.Plan {
    var table: Table {
        var table = Table(columns: [
            .init(title: "DEVICES", isRightAligned: true), .init(title: "WOULD"), .init(title: "EXAMPLES", minimum: 12),
        ])
        table.rows = entries.map { entry in
            [
                .init("\(entry.devices.count)"), .init(entry.step.words),
                .init(entry.devices.prefix(3).joined(separator: ", ").printable),
            ]
        }
        return table
    }
}

extension Rollout.Plan.Step {
    fileprivate var words: String {
        switch self {
        case .stage: "get the new password"
        case .drop: "give up the new password"
        case .nothing: "stay unchanged"
        case .offline: "be asked when they are online"
        case .unknown: "be asked when the broker knows them"
        case .notStored: "refuse: the network is not stored"
        }
    }
}

enum RolloutView {
    static func table(_ record: RolloutRecord) -> Table {
        var groups: [RolloutRecord.Device: [String]] = [:]
        for (id, device) in record.devices { groups[device, default: []].append(id) }
        var table = Table(columns: [
            .init(title: "DEVICES", isRightAligned: true), .init(title: "PHASE"),
            .init(title: "REASON", minimum: 8, rank: 1),
            .init(title: "EXAMPLES", minimum: 12, rank: 0),
        ])
        table.rows = groups.sorted { ($0.key.phase.rawValue, $1.value.count) < ($1.key.phase.rawValue, $0.value.count) }
            .map { group in
                let isGood = group.key.phase == .committed || group.key.phase == .staged
                return [
                    .init("\(group.value.count)"), .init(group.key.phase.rawValue, isGood ? .green : .yellow),
                    .init(group.key.reason?.printable ?? ""),
                    .init(group.value.sorted().prefix(3).joined(separator: ", ").printable),
                ]
            }
        return table
    }

    /// - Throws: `ExitCode` if a device refused or undid the change, or is unfinished.
    static func exit(_ record: RolloutRecord, _ goal: Rollout.Goal, offline: Int) throws {
        if record[.refused] > 0 || (goal == .apply && record[.undone] > 0) { throw ExitCode(EXIT_FAILURE) }
        let unfinished = record[.waiting] + record[.trying] + (goal == .undo ? record[.staged] : 0)
        guard unfinished == 0 else {
            complain("no answer from \(unfinished) devices, \(offline) offline: repeat the command later")
            throw ExitCode(EX_TEMPFAIL)
        }
    }
}

func show(json value: some Encodable) {
    guard let bytes = try? OutsideJSON.encode(value) else { return complain("the answer could not be written as JSON") }
    print(String(decoding: bytes, as: UTF8.self))
}
