import AgentModel
import BrokerIO
import Fleet
import Foundation
import MQTTBridge

/// Upgrades a fleet. Worker processes run the devices. This process runs the operator, who sees only the broker.
struct UpgradeFleet {
    let workers: FleetWorkers
    let broker: BrokerAddress
    let authorities: String?
    let devices: Int

    /// Time over which the updaters of a stage start.
    static let spread = Duration.seconds(60)
    /// Time for a stage: start, trial, return to the old version, and a minute to connect.
    static let limit = spread + Updater.reboot * 2 + Updater.health + .seconds(60)
    private static let stages = [100, 10, 1]

    /// - Returns: the operator after the last stage.
    func run(to release: Release, from old: String) throws -> UpgradeOperator {
        var fleet = UpgradeOperator(
            devices: devices, from: old, to: release.version, stages: Self.stages, limit: Self.limit)
        var connection = OwnerConnection(
            broker, user: nil, BrokerSecrets(authorities: authorities),
            run: String(UInt64.random(in: 0 ... .max), radix: 36))
        defer { connection.end() }
        func perform(_ effects: [UpgradeOperator.Effect]) {
            for case .install(let version, let every) in effects {
                workers.send(.upgrade(version == old ? Release(old) : release, every: every))
            }
        }
        var (hasStarted, last) = (false, Instant.now)
        let end = Instant.now + Self.limit * 8
        while !fleet.isOver {
            guard Instant.now < end else { throw FleetFailure(text: "the upgrade to \(release.version) does not end") }
            for news in connection.wait(until: .now + .milliseconds(200), nil) {
                switch news {
                case .connected: connection.subscribe(fleet.subscriptions)
                case .message(let message): fleet.record(message)
                case .lost: break
                case .refused(let reason): throw FleetFailure(text: "the broker refuses: \(reason)")
                }
            }
            guard last + .seconds(1) <= .now else { continue }
            last = .now
            if hasStarted {
                perform(fleet.tick(at: .now))
            } else if fleet.onlineCount(with: old) == devices {
                hasStarted = true
                perform(fleet.start(at: .now))
            }
        }
        return fleet
    }
}
