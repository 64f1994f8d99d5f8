import Simulation

/// Keys with which a user at the terminal changes the world.
package struct WorldKeys {
    package enum Action: Equatable, Sendable {
        case change(String)
        case state
        case help
        case end
    }

    /// Whether a key carried the device away.
    private var isAway = false

    /// Step of `-` and `+`, in dB.
    private static let step = 6

    package init() {}

    package static let help =
        "1-9 power of an access point, - + its signal (of the one in use), i its internet, a carry away and back, "
        + "u another uplink, s state, ? help, q end"

    /// - Returns: nil for a key without a meaning or without a target.
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
