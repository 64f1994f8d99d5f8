import AgentModel
import CNetlink
import Glibc
import Linux

/// A neighbour entry of ARP or neighbour discovery (`RTM_NEWNEIGH`).
struct Neighbour: Hashable {
    let key: Key
    let state: State

    struct Key: Hashable {
        let index: Int
        let address: IPAddress
    }

    /// State of an entry, `NUD_*` of neighbour.h.
    enum State: UInt16 {
        /// The address was not probed yet.
        case none = 0x00
        case incomplete = 0x01
        /// The address has answered recently.
        case reachable = 0x02
        /// The address has answered earlier, and was not probed since.
        case stale = 0x04
        case delay = 0x08
        case probe = 0x10
        case failed = 0x20
        /// The address needs no resolution, as on links without ARP.
        case noARP = 0x40
        case permanent = 0x80

        /// True if the kernel knows a hardware address to probe.
        var hasHardwareAddress: Bool {
            switch self {
            case .reachable, .stale, .delay, .probe: true
            case .none, .incomplete, .failed, .noARP, .permanent: false
            }
        }

        /// True if the entry is static. Probing it would only delete it.
        var isFixed: Bool { self == .noARP || self == .permanent }
    }
}

extension Neighbour {
    /// Reads `struct ndmsg`. Ignores proxy entries (`NTF_PROXY`).
    init?(_ payload: ArraySlice<UInt8>) {
        var reader = ByteReader(payload)
        guard let family = reader.read(UInt8.self).flatMap(AddressFamily.init),
            reader.read(UInt8.self) != nil, reader.read(UInt16.self) != nil,  // Padding.
            let index = reader.read(Int32.self), index > 0,
            let state = reader.read(UInt16.self).flatMap(State.init), let flags = reader.read(UInt8.self),
            Int32(flags) & NTF_PROXY == 0, reader.read(UInt8.self) != nil
        else { return nil }
        let attributes = Attributes(reader.rest)
        guard let address = attributes[NDA_DST].flatMap({ IPAddress(bytes: $0.bytes) }), address.family == family else {
            return nil
        }
        self.init(key: Key(index: Int(index), address: address), state: state)
    }
}

extension NetlinkRequest {
    /// Sends a unicast probe to a known hardware address (neighbour.c, `neigh_timer_handler`).
    static func probe(_ key: Neighbour.Key) -> NetlinkRequest { neighbour(key, state: .probe, flags: 0) }

    /// Marks an entry as stale, so that a probe is sent at once.
    static func doubt(_ key: Neighbour.Key) -> NetlinkRequest { neighbour(key, state: .stale, flags: 0) }

    /// Resolves the address by broadcast or multicast (neighbour.c, `neigh_event_send`).
    static func resolve(_ key: Neighbour.Key) -> NetlinkRequest {
        var request = neighbour(key, state: .none, flags: UInt8(NTF_USE))
        request.flags = NLM_F_CREATE
        return request
    }

    /// Deletes an entry. The kernel resolves the address again when needed.
    static func forget(_ key: Neighbour.Key) -> NetlinkRequest {
        neighbour(key, state: .none, flags: 0, type: UInt16(RTM_DELNEIGH))
    }

    private static func neighbour(
        _ key: Neighbour.Key, state: Neighbour.State, flags: UInt8, type: UInt16 = UInt16(RTM_NEWNEIGH)
    ) -> NetlinkRequest {
        var header: [UInt8] = [key.address.family.number, 0, 0, 0]  // Family and padding.
        header.append(number: Int32(clamping: key.index))
        header.append(number: state.rawValue)
        header += [flags, 0]  // The last byte is the type, which only answers set.
        var request = NetlinkRequest(type: type, fixedPart: header)
        request.attributes.put(NDA_DST, bytes: key.address.bytes)
        return request
    }
}

/// Makes the kernel probe a neighbour, and waits for the result. Probes a known hardware address directly. If that is
/// unknown or silent, asks the whole link: another device may have taken over the address.
@AgentLoop
final class NeighbourProbe {
    let key: Neighbour.Key
    private let socket: NetlinkSocket
    private var onEnd: ((Bool) -> Void)?
    private var deadline: LoopTimer?
    private var hasAskedEverybody = false

    init(_ key: Neighbour.Key, socket: NetlinkSocket, within limit: Duration, onEnd: @escaping (Bool) -> Void) {
        self.key = key
        self.socket = socket
        self.onEnd = onEnd
        deadline = LoopTimer(after: limit) { [weak self] in self?.end(false) }
    }

    func ask(_ state: Neighbour.State?) {
        guard let state, state.hasHardwareAddress else { return askEverybody() }
        send(.probe(key)) { [weak self] refusal in
            // The entry or its hardware address was deleted meanwhile.
            if refusal == ENOENT || refusal == EINVAL { self?.askEverybody() } else { self?.end(state == .reachable) }
        }
    }

    func handle(_ state: Neighbour.State) {
        switch state {
        case .reachable, .noARP, .permanent: end(true)
        case .failed where hasAskedEverybody: end(false)
        case .failed: askEverybody()
        case .none, .incomplete, .stale, .delay, .probe: break
        }
    }

    func giveUp() { end(false) }

    private func askEverybody() {
        hasAskedEverybody = true
        send(.resolve(key)) { [weak self] _ in self?.end(false) }
    }

    private func send(_ request: NetlinkRequest, onRefusal: @escaping (Int32?) -> Void) {
        guard onEnd != nil else { return }
        socket.send(
            request, expecting: .acknowledged, attempting: "probe \(key.address)", within: NetlinkSocket.patience
        ) { ending in
            // Ignores a lost answer: the kernel may have performed the request.
            if case .failed(let error) = ending, error.reason != .answerLost { onRefusal(error.errno) }
        }
    }

    private func end(_ answers: Bool) {
        deadline?.cancel()
        guard let onEnd else { return }
        self.onEnd = nil
        onEnd(answers)
    }
}

extension RouteMonitor {
    /// Probes an address on a link by ARP or neighbour discovery. Needs `CAP_NET_ADMIN`. Without it, returns true if
    /// the kernel has heard from the address in about the last 30 s (`NUD_REACHABLE`).
    ///
    /// - Parameters:
    ///   - gateway: an address on the link.
    ///   - limit: maximum wait. The kernel probes the last known station, then the whole link, three times at 1 s
    ///     intervals.
    /// - Returns: true at once for links without neighbours (point-to-point) and static entries; false at once if the
    ///   interface is missing, down or without carrier.
    public func probe(
        gateway: IPAddress, on interface: String, within limit: Duration = .seconds(1)
    ) async -> Bool {
        guard let link = link(named: interface), link.isUp, link.hasCarrier else {
            return false
        }
        let key = Neighbour.Key(index: link.index, address: gateway)
        guard link.traits.contains(.hasNeighbours), !(neighbourState(of: key)?.isFixed ?? false) else { return true }
        return await withCheckedContinuation { continuation in
            startProbe(key, within: limit) { continuation.resume(returning: $0) }
        }
    }
}
