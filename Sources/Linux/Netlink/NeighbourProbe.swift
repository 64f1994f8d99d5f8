import AgentModel
import CNetlink
import Glibc
import Linux

/// Has the kernel ask one neighbour whether it is there, and waits for what comes of it.
///
/// A neighbour whose hardware address is known is asked directly. If it does not answer, and if the address is not known,
/// the whole link is asked: another device may have taken the address over.
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

    /// What the kernel has just said of it.
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
    /// Has the kernel ask with ARP or neighbour discovery whether somebody on the link still has an address. This needs
    /// CAP_NET_ADMIN; without it the answer is whether the kernel has heard of it within the last half minute or so
    /// (`NUD_REACHABLE`).
    ///
    /// - Parameters:
    ///   - gateway: an address on the link itself.
    ///   - limit: the kernel asks three times, one second apart, first who had the address last and then everybody.
    /// - Returns: true at once where the link has nobody to ask, such as a point-to-point link, or the address is entered
    ///   by hand; false at once where the interface does not exist, is down or has no carrier.
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
