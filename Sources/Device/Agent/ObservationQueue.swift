import AgentCore
import Linux
import Netlink
import Supplicant

enum Observation: Sendable {
    /// With the name of the interface.
    case radio(RadioEvent, String)
    case route(RouteEvent)
    case supplicant(SupplicantEvent, String)
    case address(AddressReport, String)
}

/// Queues observations until there is a reader.
@AgentLoop
final class ObservationQueue {
    private var waiting: [Observation] = []
    private var reader: ((Observation) -> Void)?

    func put(_ observation: Observation) {
        if let reader { reader(observation) } else { waiting.append(observation) }
    }

    func deliver(to reader: @escaping (Observation) -> Void) {
        self.reader = reader
        let waiting = waiting
        self.waiting = []
        for observation in waiting { reader(observation) }
    }
}
