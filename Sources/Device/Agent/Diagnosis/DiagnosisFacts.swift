import AgentCore
import AgentModel
import AppProtocol

/// Findings by layer; nil for a layer that was not checked in time.
package struct DiagnosisFacts: Sendable, Equatable {
    package struct Radio: Sendable, Equatable {
        var interface: String
        var isSupported = true
        var isThere = true
        var isUp = true
        var block: RadioBlock?
        var isSupplicantAvailable = true
        /// Fault and recovery step in one sentence.
        var fault: String?
        var needsPowerCycle = false
        /// Firmware features that should be disabled, if the driver allows it.
        var ownWays: [String] = []

        init(
            interface: String, isSupported: Bool = true, isThere: Bool = true, isUp: Bool = true,
            block: RadioBlock? = nil, isSupplicantAvailable: Bool = true, fault: String? = nil,
            needsPowerCycle: Bool = false, ownWays: [String] = []
        ) {
            self.interface = interface
            (self.isSupported, self.isThere, self.isUp) = (isSupported, isThere, isUp)
            self.block = block
            self.isSupplicantAvailable = isSupplicantAvailable
            (self.fault, self.needsPowerCycle) = (fault, needsPowerCycle)
            self.ownWays = ownWays
        }

        package init(interface: String, isSupplicantAvailable: Bool) {
            self.init(interface: interface, isSupported: true, isSupplicantAvailable: isSupplicantAvailable)
        }

        var isGood: Bool { isSupported && isThere && isUp && isSupplicantAvailable }
    }

    package enum Association: Sendable, Equatable {
        /// Not connected, and there is no network to look for.
        case idle(AgentCore.SearchFault)
        /// - Parameters:
        ///   - known: number of networks to look for.
        ///   - refused: reasons why access points with the names of stored networks are not joined, a sentence each.
        case notConnected(known: Int, refused: [String] = [])
        case joining(String)
        /// - Parameter signal: signal in dBm; nil if it was not measured.
        case joined(String, signal: Int?, isWeak: Bool)
    }

    package struct Addresses: Sendable, Equatable {
        var own: [String]
        var hasRoute: Bool
        /// Faults of DHCP servers or neighbours since the join, a line each.
        var problems: [String]

        package init(own: [String], hasRoute: Bool, problems: [String] = []) {
            (self.own, self.hasRoute, self.problems) = (own, hasRoute, problems)
        }
    }

    package enum Names: Sendable, Equatable {
        case nothingToFind
        case found(String)
        case notFound(String, ReachProblem)
    }

    package enum Internet: Sendable, Equatable {
        case notSet
        /// The budget for checks is exhausted.
        case notAsked
        /// - Parameter signIn: problem of the sign-in, if any.
        case asked(ValidationFinding, signIn: String? = nil)
    }

    package struct Target: Sendable, Equatable {
        var name: String
        /// Host and port, such as `mqtt.example.com:8883`.
        var place: String
        var problem: ReachProblem?

        package init(name: String, place: String, problem: ReachProblem? = nil) {
            (self.name, self.place, self.problem) = (name, place, problem)
        }
    }

    package static var none: DiagnosisFacts { DiagnosisFacts() }

    package var radio: Radio?
    package var association: Association?
    package var addresses: Addresses?
    package var gatewayAnswers: Bool?
    package var hasWayOut: Bool?
    /// Modem that should be the uplink; nil if there is another uplink.
    package var modem: ModemStatus?
    package var names: Names?
    package var internet: Internet?
    /// Whether the traffic over the uplink in use is metered.
    package var isMetered = false
    /// Uplinks other than Wi-Fi that failed their checks, with their problems.
    package var failedUplinks: [String: ReachProblem] = [:]
    package var targets: [Target]?
    /// Fault of the link and recovery step in one sentence.
    package var linkFault: String?

    package var isJoined: Bool {
        if radio?.isGood == true, case .joined = association { true } else { false }
    }

    var isBeyondGateway: Bool {
        if case .asked(.online, _) = internet { return true }
        return targets?.contains { $0.problem == nil } == true
    }
}
