import AgentModel
import CNetlink
import Glibc
import Linux

/// The owner of an address on a link, as the kernel knows it from ARP or neighbour discovery (`RTM_NEWNEIGH`).
struct Neighbour: Hashable {
    let key: Key
    let state: State

    struct Key: Hashable {
        /// The interface.
        let index: Int
        let address: IPAddress
    }

    /// neighbour.h, `NUD_*`.
    enum State: UInt16 {
        /// It was not asked for.
        case none = 0x00
        case incomplete = 0x01
        /// It has answered lately.
        case reachable = 0x02
        /// It has answered once, and has not been asked since.
        case stale = 0x04
        case delay = 0x08
        case probe = 0x10
        /// It does not answer.
        case failed = 0x20
        /// The next states are known without asking.
        case noARP = 0x40
        case permanent = 0x80

        /// Whether the kernel knows a hardware address to ask.
        var hasHardwareAddress: Bool {
            switch self {
            case .reachable, .stale, .delay, .probe: true
            case .none, .incomplete, .failed, .noARP, .permanent: false
            }
        }

        /// Whether it is known without asking, so that asking would only make it forgotten.
        var isFixed: Bool { self == .noARP || self == .permanent }
    }
}

extension Neighbour {
    /// Reads `struct ndmsg` and its attributes. A host that is answered for (`NTF_PROXY`) is no neighbour.
    init?(_ payload: ArraySlice<UInt8>) {
        var reader = ByteReader(payload)
        guard let family = reader.take(UInt8.self).flatMap(AddressFamily.init),
            reader.take(UInt8.self) != nil, reader.take(UInt16.self) != nil,  // Padding.
            let index = reader.take(Int32.self), index > 0,
            let state = reader.take(UInt16.self).flatMap(State.init), let flags = reader.take(UInt8.self),
            Int32(flags) & NTF_PROXY == 0, reader.take(UInt8.self) != nil
        else { return nil }
        let attributes = Attributes(reader.rest)
        guard let bytes = attributes[NDA_DST]?.bytes, bytes.count == family.byteCount,
            let address = IPAddress(bytes: bytes)
        else { return nil }
        self.init(key: Key(index: Int(index), address: address), state: state)
    }
}

extension NetlinkRequest {
    /// Has the kernel ask a neighbour whose hardware address it knows, at once (neighbour.c, `neigh_timer_handler`).
    static func probe(_ key: Neighbour.Key) -> NetlinkRequest { neighbour(key, state: .probe, flags: 0) }

    /// Has the kernel take what it knows of a neighbour for old, so that it can be told to ask again at once.
    static func doubt(_ key: Neighbour.Key) -> NetlinkRequest { neighbour(key, state: .stale, flags: 0) }

    /// Has the kernel ask the whole link who has an address (neighbour.c, `neigh_event_send`).
    static func resolve(_ key: Neighbour.Key) -> NetlinkRequest {
        var request = neighbour(key, state: .none, flags: UInt8(NTF_USE))
        request.flags = NLM_F_CREATE
        return request
    }

    /// Has the kernel forget a neighbour, and ask the whole link when it is needed again.
    static func forget(_ key: Neighbour.Key) -> NetlinkRequest {
        neighbour(key, state: .none, flags: 0, type: UInt16(RTM_DELNEIGH))
    }

    private static func neighbour(
        _ key: Neighbour.Key, state: Neighbour.State, flags: UInt8, type: UInt16 = UInt16(RTM_NEWNEIGH)
    ) -> NetlinkRequest {
        var header: [UInt8] = [key.address.family.number, 0, 0, 0]  // Family and padding.
        header.append(number: Int32(clamping: key.index))
        header.append(number: state.rawValue)
        header += [flags, 0]  // And the type, which only answers have.
        var request = NetlinkRequest(type: type, fixedPart: header)
        request.attributes.put(NDA_DST, bytes: key.address.bytes)
        return request
    }
}

/// Has the kernel ask one neighbour whether it is there, and waits for what comes of it.
///
/// A neighbour whose hardware address is known is asked directly. If it does not answer, and if the address is not
/// known, the whole link is asked: another device may have taken the address over.
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

    /// - Parameter state: what the kernel has last said of it.
    func ask(_ state: Neighbour.State?) {
        guard let state, state.hasHardwareAddress else { return askEverybody() }
        send(.probe(key)) { [weak self] refusal in
            // It has been forgotten meanwhile, or its hardware address has.
            if refusal == ENOENT || refusal == EINVAL { self?.askEverybody() } else { self?.end(state == .reachable) }
        }
    }

    /// Takes in a report of the kernel.
    func hear(_ state: Neighbour.State) {
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
            request, expecting: .acknowledged, attempting: "ask for \(key.address)", within: NetlinkSocket.patience
        ) { ending in
            // Of a lost answer nothing follows: what it was about may have been done.
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
    /// Has the kernel ask with ARP or neighbour discovery whether any station on the link still has an address. This
    /// needs CAP_NET_ADMIN; without it the answer is whether the kernel has heard of it within the last half minute or
    /// so (`NUD_REACHABLE`).
    ///
    /// - Parameters:
    ///   - gateway: an address on the link itself.
    ///   - limit: the kernel asks three times, one second apart, first the station that had the address last and then
    ///   all of them.
    /// - Returns: true at once where the link has no neighbours, such as a point-to-point link, or the address is
    ///   entered by hand; false at once where the interface does not exist, is down or has no carrier.
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
