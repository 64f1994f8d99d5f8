import AgentCore
import Linux
import Netlink
import Supplicant

/// Reports of the device's parts, in one order.
enum Observation: Sendable {
    /// Of the interface of this name.
    case radio(RadioEvent, String)
    case route(RouteEvent)
    case supplicant(SupplicantEvent, String)
    case address(AddressReport, String)
}

/// Takes observations from the first moment on and keeps them until there is a reader.
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
