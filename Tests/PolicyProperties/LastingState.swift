import AgentModel
import Failover

/// A state that may last for years: in it the device must be woken seldom.
package enum LastingState: String, CaseIterable, Sendable {
    case good, weakWithoutAlternative, nothingInRange, everythingBlocked, noAddress, interfaceDown, noSupplicant
    case awayFromPreferred, wiredOffline, wiredOnline, deadInternet, captive, noNetworks

    /// How often the policy was woken in the third hour of it.
    package func wakesPerHour(settings: PolicySettings) throws(Violation) -> Int {
        var world = World(settings: settings, traits: World.Traits())
        try world.begin()
        for change in changes { try world.perform(Turn(delay: 1000, change: change)) }
        try world.run(until: world.now + .seconds(2 * 3600))
        let before = world.wakes
        try world.run(until: world.now + .seconds(3600))
        let wakes = world.wakes - before
        guard wakes <= Bounds.wakesPerHour else {
            throw Violation(.fewWakes, "\(wakes) wake-ups in an hour of \(self)", at: world.now)
        }
        return wakes
    }

    private var changes: [Turn.Change] {
        switch self {
        case .good: [.power(0, isOn: true)]
        case .weakWithoutAlternative: [.power(0, isOn: true), .nothing, .level(0, -84)]
        case .nothingInRange: []
        case .everythingBlocked:
            [.fault(0, .wrongKey), .fault(1, .rejected), .fault(2, .timeout)] + (0..<3).map { .power($0, isOn: true) }
        case .noAddress: [.address(0, isGiven: false), .power(0, isOn: true)]
        case .interfaceDown: [.interfaceDown(isStuck: true)]
        case .noSupplicant: [.power(0, isOn: true), .supplicant(isRunning: false)]
        case .awayFromPreferred: [.power(0, isOn: true), .power(1, isOn: true), .nothing, .power(0, isOn: false)]
        case .wiredOffline: [.uplink(.wired)]
        case .wiredOnline: [.power(0, isOn: true), .uplink(.wired)]
        case .deadInternet: [.internet(0, .failed), .power(0, isOn: true)]
        case .captive: [.internet(0, .captive), .power(0, isOn: true)]
        case .noNetworks: [.networks([], preferred: nil)]
        }
    }
}
