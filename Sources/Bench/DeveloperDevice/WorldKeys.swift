import Simulation

/// Maps keys of a terminal to changes of the world.
package struct WorldKeys {
    package enum Action: Equatable, Sendable {
        case change(String)
        case state
        case help
        case end
    }

    /// Whether the last press of `a` carried the device away.
    private var isAway = false

    /// Change of the signal by `-` and `+`, in dB.
    private static let step = 6

    package init() {}

    package static let help =
        "1-9 an access point on or off, - + signal, i internet of the current one, a carry away and back, "
        + "u another uplink, s state, ? help, q end"

    /// - Returns: nil for a key without a meaning, and if there is no access point to change.
    package mutating func action(for key: UInt8, in world: WorldState) -> Action? {
        let target = world.accessPoints.first(where: \.joined) ?? world.accessPoints.first(where: \.on)
        switch key {
        case UInt8(ascii: "1")...UInt8(ascii: "9"):
            let index = Int(key - UInt8(ascii: "1"))
            guard index < world.accessPoints.count else { return nil }
            let accessPoint = world.accessPoints[index]
            return .change("\(accessPoint.name) \(accessPoint.on ? "off" : "on")")
        case UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "="):
            let change = key == UInt8(ascii: "-") ? -Self.step : Self.step
            return target.map { .change("\($0.name) signal \(min(-1, max(-110, $0.signal + change)))") }
        case UInt8(ascii: "i"):
            return target.map { .change("\($0.name) internet \($0.internet == "online" ? "dead" : "online")") }
        case UInt8(ascii: "a"):
            isAway.toggle()
            return .change(isAway ? "away" : "back")
        case UInt8(ascii: "u"): return .change(world.uplink == nil ? "uplink wired" : "uplink none")
        case UInt8(ascii: "s"): return .state
        case UInt8(ascii: "?"), UInt8(ascii: "h"): return .help
        case UInt8(ascii: "q"): return .end
        default: return nil
        }
    }
}
