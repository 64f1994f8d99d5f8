import AgentModel
import CNetlink
import Glibc

/// Reads the kernel's tables and routes synchronously, in the thread's network namespace. The kernel answers before the
/// call returns: a read takes about 1 ms.
struct RouteReading: ~Copyable {
    private let descriptor: Int32
    private var lastSequence: UInt32 = 0

    /// Maximum size of a dump datagram in bytes. The kernel adapts to the reader's buffer, up to 32 KiB (af_netlink.c,
    /// `netlink_recvmsg`).
    private static let largestDatagram = 32 * 1024
    private static let maximumDatagrams = 4096
    /// Time limit for an answer in seconds.
    private static let patience = 1

    init() throws(NetlinkError) {
        descriptor = socket(AF_NETLINK, Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue), NETLINK_ROUTE)
        guard descriptor >= 0 else { throw Self.failure("open a netlink socket") }
        var limit = timeval(tv_sec: Self.patience, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout.size(ofValue: limit)))
    }

    deinit { close(descriptor) }

    /// - Parameter disconnected: interfaces whose modem has no connection.
    mutating func table(disconnected: Set<String>) throws(NetlinkError) -> RouteTable {
        var table = RouteTable()
        _ = table.setDisconnected(disconnected)
        for subject in RouteSubject.allCases {
            for attempt in 1...NetlinkSocket.attempts {
                table.beginReading(subject)
                let isConsistent = try walk(.dump(of: subject), .dump, "read the \(subject)") {
                    guard let message = RouteMessage($0) else { return }
                    _ = table.apply(message, from: .reading) { Uplink($0, files: .system) }
                }
                if isConsistent || attempt == NetlinkSocket.attempts { break }
            }
            _ = table.endReading(subject)
        }
        return table
    }

    mutating func route(to address: IPAddress) throws(NetlinkError) -> RouteLookup? {
        var route: RouteLookup?
        do throws(NetlinkError) {
            _ = try walk(.routeLookup(to: address), .reply, "find the route to \(address)") { message in
                if Int(message.type) == RTM_NEWROUTE { route = RouteLookup(message.payload) }
            }
        } catch  where RouteLookup.meansNone(error) {}
        return route
    }

    /// - Returns: true if the messages are consistent; false if a change interrupted the dump.
    private mutating func walk(
        _ request: NetlinkRequest, _ answer: NetlinkSocket.Answer, _ attempted: String,
        onMessage: (NetlinkMessage) -> Void
    ) throws(NetlinkError) -> Bool {
        lastSequence += 1
        let sequence = lastSequence
        let message = request.encoded(flags: NLM_F_REQUEST | answer.flags, sequence: sequence, port: 0)
        guard send(descriptor, message, message.count, 0) == message.count else { throw Self.failure(attempted) }
        var isConsistent = true
        for _ in 0..<Self.maximumDatagrams {
            for message in NetlinkDatagram(try datagram(attempted)) where message.sequence == sequence {
                if message.has(NLM_F_DUMP_INTR), answer == .dump { isConsistent = false }
                guard let end = Acknowledgement(message) else {
                    onMessage(message)
                    continue
                }
                guard end.errno == 0 else {
                    throw NetlinkError(attempted: attempted, reason: .refused(errno: end.errno, detail: end.detail))
                }
                return isConsistent
            }
        }
        throw NetlinkError(
            attempted: attempted, reason: .malformed("more than \(Self.maximumDatagrams) datagrams"))
    }

    private func datagram(_ attempted: String) throws(NetlinkError) -> [UInt8] {
        while true {
            var sender = sockaddr_nl()
            var senderLength = socklen_t(MemoryLayout.size(ofValue: sender))
            var buffer = [UInt8](repeating: 0, count: Self.largestDatagram)
            let length = withUnsafeMutablePointer(to: &sender) { sender in
                sender.withMemoryRebound(to: sockaddr.self, capacity: 1) { sender in
                    recvfrom(descriptor, &buffer, buffer.count, Int32(MSG_TRUNC), sender, &senderLength)
                }
            }
            if length < 0, errno == EINTR { continue }
            guard length >= 0 else { throw Self.failure(attempted) }
            guard length <= buffer.count else { throw Self.failure(attempted, EMSGSIZE) }
            // Ignores messages of other processes: only the kernel has port 0.
            if sender.nl_pid == 0 { return Array(buffer[..<length]) }
        }
    }

    private static func failure(_ attempted: String, _ code: Int32 = errno) -> NetlinkError {
        NetlinkError(
            attempted: attempted,
            reason: code == EAGAIN ? .timedOut(after: .seconds(patience)) : .refused(errno: code, detail: nil))
    }
}
