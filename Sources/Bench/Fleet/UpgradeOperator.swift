import AgentModel
import FleetOperator
import MQTTBridge

/// An operator who upgrades a fleet in stages and sees only the broker's retained messages, as `altnet fleet list`
/// does. If too many devices of a stage do not come online with the new version, the operator takes it back everywhere.
package struct UpgradeOperator {
    package enum Effect: Equatable {
        /// Have the updaters of each `every`th device install the version.
        case install(String, every: Int)
    }

    /// Result of a stage, as numbers of devices.
    package struct Stage: Sendable, Equatable {
        package let version: String
        package let every: Int
        /// Devices online with the version.
        package var upgraded = 0
        /// Devices online with another version: their updater has undone it.
        package var undone = 0
        /// Devices that are not online.
        package var missing = 0
        package var seconds: Int64 = 0

        package var devices: Int { upgraded + undone + missing }
        /// Whether at most a tenth of the devices failed.
        package var isGood: Bool { (undone + missing) * 10 <= devices }
    }

    private let devices: Int
    private let old: String
    private let new: String
    /// Each `n`th device takes part in a stage; the last stage has all devices.
    private let stages: [Int]
    private let limit: Duration
    private var roster = Roster(prefix: "altnet")
    private var current: (stage: Stage, began: Instant)?

    /// Stages that have ended, with the return to the old version.
    package private(set) var results: [Stage] = []
    package private(set) var isOver = false

    /// Repetitions of the last stage for devices that have undone the version.
    private static let repetitions = 2

    /// - Parameter limit: time for a stage: for the start of its updates, and for trial and return of a device.
    package init(devices: Int, from old: String, to new: String, stages: [Int], limit: Duration) {
        (self.devices, self.old, self.new, self.stages, self.limit) = (devices, old, new, stages, limit)
    }

    package var subscriptions: [Subscription] { roster.subscriptions }
    package var isTakenBack: Bool { results.last?.version == old }

    package mutating func record(_ message: IncomingMessage) { roster.record(message) }

    /// Number of devices that are online with this version.
    package func onlineCount(with version: String) -> Int { count(Stage(version: version, every: 1)).upgraded }

    package mutating func start(at now: Instant) -> [Effect] { begin(new, every: stages[0], at: now) }

    package mutating func tick(at now: Instant) -> [Effect] {
        guard let (begun, began) = current else { return [] }
        var stage = count(begun)
        guard stage.upgraded == stage.devices || began + limit <= now else { return [] }
        stage.seconds = (now - began).components.seconds
        results.append(stage)
        current = nil
        if stage.version == old {
            isOver = true
        } else if !stage.isGood {
            return begin(old, every: 1, at: now)
        } else if let next = stages.first(where: { $0 < stage.every }) {
            return begin(new, every: next, at: now)
        } else if stage.upgraded < stage.devices, results.count < stages.count + Self.repetitions {
            return begin(new, every: stage.every, at: now)
        } else {
            isOver = true
        }
        return []
    }

    private mutating func begin(_ version: String, every: Int, at now: Instant) -> [Effect] {
        current = (Stage(version: version, every: every), now)
        return [.install(version, every: every)]
    }

    private func count(_ stage: Stage) -> Stage {
        var stage = stage
        for number in stride(from: 0, to: devices, by: stage.every) {
            let device = roster.devices[Fleet.id(number)]
            if device?.isOnline != true {
                stage.missing += 1
            } else if device?.status?.firmware.installed == stage.version {
                stage.upgraded += 1
            } else {
                stage.undone += 1
            }
        }
        return stage
    }
}
