import AgentModel

/// Why a world was not changed.
package struct WorldError: Error, Codable, Hashable, Sendable {
    package enum Code: String, Codable, Sendable {
        /// The request is not of the form that it has to have.
        case malformed
        /// It is no change that a world knows, or it names what is not there.
        case invalidChange
        /// It is a change of another kind.
        case unsupported
    }

    package let code: Code
    /// In words.
    package let message: String

    package init(_ code: Code, _ message: String) { (self.code, self.message) = (code, message) }
}

/// What may happen to a world at once: what scenarios have happen, in their words (`repeater off`), and two more:
/// `away`, where no access point is heard, and `back`.
struct WorldChange {
    private enum Carry: String {
        case away, back
    }

    /// How long the device is carried.
    private static let carryTime = Duration.seconds(10)
    /// Below every radio's reach, in dBm.
    private static let unheard = -110
    /// East of where it was, in metres: further than any scenario's house is wide.
    private static let distance = 10_000.0

    private let text: String

    init(_ text: String) { self.text = text }

    /// - Parameters:
    ///   - scenario: with the access points.
    ///   - origin: with the places and signals to go back to.
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
    /// Whether it is done to the world, and not to the device or by its apps.
    var isOfTheWorld: Bool {
        switch self {
        case .power, .signal, .internet, .address, .full, .password, .move, .interference, .otherUplink,
            .supplicantDies:
            true
        case .newPassword, .command, .suspend, .restart: false
        }
    }
}
