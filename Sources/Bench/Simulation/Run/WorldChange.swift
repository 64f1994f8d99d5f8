package struct WorldError: Error, Codable, Hashable, Sendable {
    package enum Code: String, Codable, Sendable {
        case malformed
        /// The change is unknown, or names an unknown access point or network.
        case invalidChange
        /// The change does not concern the world.
        case unsupported
    }

    package let code: Code
    package let message: String

    package init(_ code: Code, _ message: String) { (self.code, self.message) = (code, message) }
}

/// A change of the world: an event as in a scenario (`repeater off`), or `away` and `back`. `away` carries the device
/// out of range of all access points, and `back` returns it.
struct WorldChange {
    private enum Carry: String {
        case away, back
    }

    private static let carryTime = Duration.seconds(10)
    /// Signal in dBm that is too weak for all radios.
    private static let unheard = -110
    /// Distance of `away` to the east, in metres. It is more than the width of any scenario.
    private static let distance = 10_000.0

    private let text: String

    init(_ text: String) { self.text = text }

    /// - Parameters:
    ///   - scenario: scenario with the current access points.
    ///   - origin: scenario with the original places and signals.
    func changes(in scenario: Scenario, from origin: Scenario) throws(WorldError) -> [Scenario.Change] {
        if let carry = Carry(rawValue: text) { return changes(carry, origin) }
        do throws(ScenarioError) { return try ScenarioParser.changes(text, in: scenario) } catch {
            let names = scenario.accessPoints.prefix(20).map(\.name).joined(separator: ", ")
            throw WorldError(
                .invalidChange, "expected \(error.expected), found \(error.found); access points here: \(names)")
        }
    }

    private func changes(_ carry: Carry, _ origin: Scenario) -> [Scenario.Change] {
        var changes: [Scenario.Change] = []
        for accessPoint in origin.accessPoints {
            guard case .signal(let signal) = accessPoint.place else { continue }
            changes.append(
                .signal(ap: accessPoint.name, carry == .away ? Self.unheard : signal, over: Self.carryTime))
        }
        if changes.count < origin.accessPoints.count {
            var place = origin.position
            if carry == .away { place.x += Self.distance }
            changes.append(.move(to: place, over: Self.carryTime))
        }
        return changes
    }
}

extension Scenario.Change {
    /// Whether the change concerns the world, and not the device or its apps.
    var isOfTheWorld: Bool {
        switch self {
        case .power, .signal, .internet, .address, .full, .password, .move, .interference, .otherUplink,
            .supplicantDies:
            true
        case .newPassword, .command, .suspend, .restart: false
        }
    }
}
