import CLinux
import CNetlink
import Glibc
import Netlink

/// A netlink socket. Requests block until their answer arrives, so use it on a dedicated thread.
///
/// The socket belongs to the network namespace of the thread that creates it. Another thread may use it.
final class NetlinkConversation {
    let descriptor: Int32
    private var sequence: UInt32 = 0

    private static let largestDatagram = 32 * 1024
    /// Time limit for an answer in seconds.
    private static let patience = 10

    init() throws(DongleError) {
        descriptor = socket(
            AF_NETLINK, Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue), Int32(NETLINK_GENERIC))
        guard descriptor >= 0 else { throw .refused("open a netlink socket", errno: errno) }
        // Bind the socket, because an unbound socket receives no multicast messages.
        var address = sockaddr_nl()
        address.nl_family = sa_family_t(AF_NETLINK)
        let size = socklen_t(MemoryLayout.size(ofValue: address))
        let bound = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
        }
        guard bound == 0 else { throw .refused("bind a netlink socket", errno: errno) }
        var limit = timeval(tv_sec: Self.patience, tv_usec: 0)
        var room: Int32 = 1 << 20
        var on: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout.size(ofValue: limit)))
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &room, socklen_t(MemoryLayout.size(ofValue: room)))
        setsockopt(descriptor, SOL_NETLINK, NETLINK_CAP_ACK, &on, socklen_t(MemoryLayout.size(ofValue: on)))
    }

    deinit { close(descriptor) }

    func join(group: Int) throws(DongleError) {
        var number = Int32(clamping: group)
        let size = socklen_t(MemoryLayout.size(ofValue: number))
        guard setsockopt(descriptor, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &number, size) == 0 else {
            throw .refused("listen to nl80211's news", errno: errno)
        }
    }

    /// Sends a request and waits for the answer.
    /// - Parameters:
    ///   - isDump: whether the request asks for a list.
    ///   - attempt: description of the request for an error.
    ///   - onPart: called for each message of the answer.
    func ask(
        _ request: NetlinkRequest, isDump: Bool = false, attempting attempt: String,
        onPart: (NetlinkMessage) -> Void = { _ in }
    ) throws(DongleError) {
        sequence &+= 1
        let flags = NLM_F_REQUEST | NLM_F_ACK | (isDump ? NLM_F_DUMP : 0)
        let message = request.encoded(flags: flags, sequence: sequence, port: 0)
        guard message.withUnsafeBytes({ send(descriptor, $0.baseAddress, $0.count, 0) }) == message.count else {
            throw .refused(attempt, errno: errno)
        }
        while true {
            guard let datagram = receive(flags: 0) else { throw .refused(attempt, errno: errno) }
            for part in NetlinkDatagram(datagram) where part.sequence == sequence {
                guard let end = Acknowledgement(part) else {
                    onPart(part)
                    continue
                }
                guard end.errno == 0 else { throw .refused(attempt, errno: end.errno) }
                return
            }
        }
    }

    /// Returns the multicast messages that have arrived. Does not wait.
    func news() -> [NetlinkMessage] {
        var news: [NetlinkMessage] = []
        while let datagram = receive(flags: Int32(MSG_DONTWAIT)) { news += NetlinkDatagram(datagram) }
        return news
    }

    private func receive(flags: Int32) -> [UInt8]? {
        withUnsafeTemporaryAllocation(byteCount: Self.largestDatagram, alignment: 1) { buffer -> [UInt8]? in
            var count = -1
            repeat {
                count = recv(descriptor, buffer.baseAddress, buffer.count, flags)
            } while count < 0 && errno == EINTR
            return count < 0 ? nil : Array(buffer[..<count])
        }
    }
}
