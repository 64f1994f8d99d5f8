import AgentModel
import AppProtocol
import Connectivity

/// The findings at each layer; nil for a layer that was not reached in time.
package struct DiagnosisFacts: Sendable, Equatable {
    package struct Radio: Sendable, Equatable {
        var interface: String
        /// Whether the kernel has Wi-Fi at all.
        var isSupported = true
        var isThere = true
        var isUp = true
        /// What keeps the radio from working.
        var block: RadioBlock?
        var isSupplicantAvailable = true
        /// What is wrong with it, and what was done about it, in a sentence.
        var fault: String?
        /// It has to be without power for a moment.
        var needsPowerCycle = false
        /// What its firmware does by itself and had better not, where that can be set.
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

        /// A radio without a fault.
        package init(interface: String, isSupplicantAvailable: Bool) {
            self.init(interface: interface, isSupported: true, isSupplicantAvailable: isSupplicantAvailable)
        }

        var isGood: Bool { isSupported && isThere && isUp && isSupplicantAvailable }
    }

    package enum Association: Sendable, Equatable {
        /// Nothing is joined, of so many networks that are known.
        /// - Parameter refused: why access points that bear their names are not joined, one sentence each.
        case notConnected(known: Int, refused: [String] = [])
        case joining(String)
        /// - Parameter signal: in dBm, where it could be measured.
        case joined(String, signal: Int?, isWeak: Bool)
    }

    package struct Addresses: Sendable, Equatable {
        var own: [String]
        var hasRoute: Bool

        package init(own: [String], hasRoute: Bool) { (self.own, self.hasRoute) = (own, hasRoute) }
    }

    package enum Names: Sendable, Equatable {
        /// Everything is reached by address.
        case nothingToFind
        case found(String)
        case notFound(String, ReachProblem)
    }

    package enum Internet: Sendable, Equatable {
        /// There is no source to ask.
        case notSet
        /// The budget for questions is used up for now.
        case notAsked
        /// - Parameter signIn: what went wrong with the sign-in, where it did.
        case asked(ValidationFinding, signIn: String? = nil)
    }

    package struct Target: Sendable, Equatable {
        var name: String
        /// As in `mqtt.example.com:8883`.
        var place: String
        /// Nil where it answers.
        var problem: ReachProblem?

        package init(name: String, place: String, problem: ReachProblem? = nil) {
            (self.name, self.place, self.problem) = (name, place, problem)
        }
    }

    /// Before anything was looked at.
    package static var none: DiagnosisFacts { DiagnosisFacts() }

    package var radio: Radio?
    package var association: Association?
    package var addresses: Addresses?
    package var gatewayAnswers: Bool?
    /// Whether there is any way out, by Wi-Fi or else.
    package var hasWayOut: Bool?
    /// Where there is no way out, the modem that could be one.
    package var modem: ModemStatus?
    package var names: Names?
    package var internet: Internet?
    package var targets: [Target]?

    /// Whether a Wi-Fi network is joined, so that there is a point in looking at what it gives.
    package var isJoined: Bool {
        if radio?.isGood == true, case .joined = association { true } else { false }
    }

    /// Whether something behind the gateway was reached.
    var isBeyondGateway: Bool {
        if case .asked(.online, _) = internet { return true }
        return targets?.contains { $0.problem == nil } == true
    }
}
