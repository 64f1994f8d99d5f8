import CLinux
import CNetlink
import Glibc
import Linux

/// A non-blocking netlink socket on which requests and notifications share one order.
///
/// One socket for both, because the kernel's order is what tells the end of our own scan from the end of another
/// program's just before, and a disconnection before an answer from one after.
@AgentLoop
final class NetlinkSocket {
    enum Subsystem {
        case generic
        case route
    }

    /// Called for each message that answers no request of ours.
    var onNotification: (NetlinkMessage) -> Void = { _ in }
    /// Called when the kernel had to drop messages because they were not read in time. The kernel does not say which.
    var onOverrun: () -> Void = {}

    private let subsystem: Subsystem
    private let handle: Handle
    private let buffer: ReceiveBuffer
    /// Our address, where the kernel sends its answers.
    let port: UInt32
    private var watch: ReadWatch?
    private var isMissingMessages = false
    private var pending: [UInt32: PendingRequest] = [:]
    private var lastSequence: UInt32 = 0
    /// The kernel answers one dump at a time on a socket, so others wait here.
    private var dumpUnderWay: UInt32?
    private var waitingDumps: [(sequence: UInt32, message: [UInt8])] = []

    /// Reads at most so many datagrams in a row, so that a flood does not keep timers and other sockets waiting.
    private static let datagramsPerTurn = 64
    private static let maximumParts = 16 * 1024
    private let maximumPending: Int

    /// - Parameters:
    ///   - receiveBuffer: how many bytes the kernel keeps for us before it drops messages. The kernel allows
    ///     `net.core.rmem_max` at most and counts its own bookkeeping, which is why more than the messages are needed.
    ///   - maximumPending: how many requests may wait for their answers.
    init(
        _ subsystem: Subsystem, receiveBuffer: Int = 256 * 1024, maximumPending: Int = 64
    ) throws(NetlinkError) {
        guard let socket = nl_socket_alloc(), let buffer = ReceiveBuffer() else {
            throw NetlinkError(attempted: "make a netlink socket", reason: .refused(errno: ENOMEM, detail: nil))
        }
        (self.subsystem, self.maximumPending) = (subsystem, maximumPending)
        handle = Handle(socket)
        self.buffer = buffer
        // Sequence numbers and acknowledgements are this class's own.
        nl_socket_disable_auto_ack(socket)
        nl_socket_disable_seq_check(socket)
        let connected = subsystem == .generic ? genl_connect(socket) : nl_connect(socket, NETLINK_ROUTE)
        guard connected == 0 else { throw Self.failure("open a netlink socket") }
        guard nl_socket_set_nonblocking(socket) == 0,
            nl_socket_set_buffer_size(socket, Int32(clamping: receiveBuffer), 0) == 0
        else { throw Self.failure("set up a netlink socket") }
        port = nl_socket_get_local_port(socket)
        // A kernel that does not know these still works; its refusals are then longer and without text.
        for option in [NETLINK_CAP_ACK, NETLINK_EXT_ACK] {
            var on: Int32 = 1
            setsockopt(handle.fileDescriptor, SOL_NETLINK, option, &on, socklen_t(MemoryLayout.size(ofValue: on)))
        }
        watch = ReadWatch(fileDescriptor: handle.fileDescriptor) { [weak self] in self?.receive() }
    }

    isolated deinit {
        // Dispatch may look at the descriptor until it says that it has stopped.
        watch?.cancel { [handle] in withExtendedLifetime(handle) {} }
        waitingDumps = []
        for sequence in pending.keys.sorted() { finish(sequence, .failed(.refused(errno: EBADF, detail: nil))) }
    }

    /// Receives what the kernel sends to a multicast group from now on.
    func join(group: Int, named name: String) throws(NetlinkError) {
        guard nl_socket_add_membership(handle.socket, Int32(clamping: group)) == 0 else {
            throw Self.failure("listen to the multicast group \(name)")
        }
    }

    // MARK: Requests

    /// Sends a request and calls back in the order of the kernel's answers: `onPart` for each message of the reply and
    /// `onEnd` exactly once, later than this returns or, where sending fails, before.
    func send(
        _ request: NetlinkRequest, expecting answer: Answer, attempting attempted: String, within deadline: Duration,
        onPart: @escaping (NetlinkMessage) -> Void = { _ in }, onEnd: @escaping (Ending) -> Void
    ) {
        guard pending.count < maximumPending else {
            onEnd(
                .failed(
                    NetlinkError(attempted: attempted, reason: .exceeds(limit: maximumPending, of: "requests"))))
            return
        }
        let sequence = nextSequence()
        let message = request.encoded(flags: NLM_F_REQUEST | answer.flags, sequence: sequence, port: port)
        let timer = LoopTimer(after: deadline) { [weak self] in
            self?.finish(sequence, .failed(.timedOut(after: deadline)))
        }
        pending[sequence] = PendingRequest(
            attempted: attempted, answer: answer, timer: timer, onPart: onPart, onEnd: onEnd)
        guard answer == .dump, dumpUnderWay != nil else { return transmit(message, sequence) }
        waitingDumps.append((sequence, message))
    }

    private func transmit(_ message: [UInt8], _ sequence: UInt32) {
        if pending[sequence]?.answer == .dump { dumpUnderWay = sequence }
        var message = message
        guard nl_sendto(handle.socket, &message, message.count) < 0 else { return }
        finish(sequence, .failed(.refused(errno: errno, detail: nil)))
    }

    private func nextSequence() -> UInt32 {
        // Zero is what notifications carry.
        repeat { lastSequence &+= 1 } while lastSequence == 0 || pending[lastSequence] != nil
        return lastSequence
    }

    private func finish(_ sequence: UInt32, _ outcome: Outcome) {
        guard let request = pending.removeValue(forKey: sequence) else { return }
        request.timer.cancel()
        if dumpUnderWay == sequence {
            dumpUnderWay = nil
            startNextDump()
        }
        switch outcome {
        case .complete where request.wasInterrupted: request.onEnd(.interrupted)
        case .complete: request.onEnd(.complete)
        case .failed(let reason):
            request.onEnd(.failed(NetlinkError(attempted: request.attempted, reason: reason)))
        }
    }

    private func startNextDump() {
        while dumpUnderWay == nil, !waitingDumps.isEmpty {
            let next = waitingDumps.removeFirst()
            // One whose deadline has passed meanwhile is pending no more.
            if pending[next.sequence] != nil { transmit(next.message, next.sequence) }
        }
    }

    // MARK: Receiving

    private func receive() {
        for _ in 0..<Self.datagramsPerTurn {
            switch nextDatagram() {
            // Only the kernel has port zero: other processes may write to this socket too.
            case .datagram(_, sender: 1...): continue
            case .datagram(let bytes, _): if dispatch(NetlinkDatagram(bytes)) { return receiveLater() }
            case .failed(errno: EAGAIN): return noteOverrun()
            case .failed(errno: EINTR): continue
            // ENOBUFS, a datagram that did not fit, or an error inside a dump: something is missing.
            default: isMissingMessages = true
            }
        }
        receiveLater()
    }

    private enum Received {
        /// From the sender of that port.
        case datagram([UInt8], sender: UInt32)
        case failed(errno: Int32)
    }

    private func nextDatagram() -> Received {
        var sender = sockaddr_nl()
        var senderLength = socklen_t(MemoryLayout.size(ofValue: sender))
        // With MSG_TRUNC the result is what the datagram had, not what fitted.
        let length = withUnsafeMutablePointer(to: &sender) { sender in
            sender.withMemoryRebound(to: sockaddr.self, capacity: 1) { sender in
                recvfrom(handle.fileDescriptor, buffer.start, buffer.count, Int32(MSG_TRUNC), sender, &senderLength)
            }
        }
        guard length >= 0 else { return .failed(errno: errno) }
        guard length <= buffer.count else { return .failed(errno: EMSGSIZE) }
        return .datagram(buffer.take(length), sender: sender.nl_pid)
    }

    /// The index of an interface; nil while there is none of that name.
    func index(of interface: String) -> Int? {
        let index = interface_index(handle.fileDescriptor, interface)
        return index == 0 ? nil : Int(index)
    }

    /// Everything that is left after an overrun has been read, so what is still not answered never will be: apart from
    /// dumps, which take their time, the kernel answers before `nl_sendto` returns.
    private func noteOverrun() {
        guard isMissingMessages else { return }
        isMissingMessages = false
        for (sequence, request) in pending where request.answer != .dump { finish(sequence, .failed(.answerLost)) }
        onOverrun()
    }

    /// Goes on behind the task that waits for an answer that has just come, so that it finds the state that the answer
    /// is of, and behind everything else that has waited while many messages came.
    ///
    /// Not left to the watch, which wakes for messages: an overrun that is still to be told has none.
    private func receiveLater() {
        Task { [weak self] in self?.receive() }
    }

    /// - Returns: whether a request has ended.
    private func dispatch(_ datagram: NetlinkDatagram) -> Bool {
        var hasEnded = false
        for message in datagram {
            switch classify(message) {
            case .notification: onNotification(message)
            case .part:
                pending[message.sequence]?.note(message)
                guard let request = pending[message.sequence] else { continue }
                if request.messages <= Self.maximumParts {
                    request.onPart(message)
                } else {
                    finish(message.sequence, .failed(.malformed("more than \(Self.maximumParts) messages")))
                }
            // The kernel refuses a dump for which unread news leaves no room, and all the same makes it as room comes
            // (af_netlink.c, `netlink_dump` when called by `netlink_dump_start` and later by `netlink_recvmsg`).
            case .ending(let refusal) where refusal.errno == ENOBUFS && pending[message.sequence]?.answer == .dump:
                break
            case .ending(let acknowledgement):
                hasEnded = true
                pending[message.sequence]?.note(message)
                finish(message.sequence, acknowledgement.outcome)
            case .stray: break
            }
        }
        return hasEnded
    }

    private enum Classification {
        case notification
        case part
        case ending(Acknowledgement)
        /// The late answer to a request whose deadline has passed, or nothing that is known.
        case stray
    }

    private func classify(_ message: NetlinkMessage) -> Classification {
        let isControl = message.type < UInt16(NLMSG_MIN_TYPE)
        let request = message.port == port ? pending[message.sequence] : nil
        switch (isControl, request?.answer) {
        case (true, .some): return Acknowledgement(message).map(Classification.ending) ?? .stray
        case (true, nil): return .stray
        case (false, .reply): return .part
        case (false, .dump) where message.has(NLM_F_MULTI): return .part
        case (false, nil) where message.port == port && (subsystem == .generic || message.has(NLM_F_MULTI)):
            return .stray
        // rtnetlink stamps the news of what we asked for with our own port and sequence number.
        default: return .notification
        }
    }

    private static func failure(_ attempted: String) -> NetlinkError {
        NetlinkError(attempted: attempted, reason: .refused(errno: errno, detail: nil))
    }

    /// Room for the largest datagram. Pages beyond the first go back to the kernel once a datagram was taken out.
    /// It is used on the loop only, and freed wherever the last reference goes.
    private final class ReceiveBuffer: @unchecked Sendable {
        let start: UnsafeMutableRawPointer
        /// The kernel sizes its dumps by what the reader offers, up to 32 KiB (af_netlink.c, `netlink_recvmsg`).
        let count = 32 * 1024
        private static let page = 4096

        init?() {
            guard let start = mmap(nil, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                start != MAP_FAILED
            else { return nil }
            self.start = start
        }

        deinit { munmap(start, count) }

        /// - Parameter length: in bytes, at most `count`.
        func take(_ length: Int) -> [UInt8] {
            defer { if length > Self.page { madvise(start + Self.page, count - Self.page, MADV_DONTNEED) } }
            return Array(UnsafeRawBufferPointer(start: start, count: length))
        }
    }

    /// libnl's socket, which is freed with the last reference.
    private final class Handle: @unchecked Sendable {  // Used on the loop only, freed wherever the last reference goes.
        let socket: OpaquePointer

        init(_ socket: OpaquePointer) { self.socket = socket }
        deinit { nl_socket_free(socket) }

        var fileDescriptor: Int32 { nl_socket_get_fd(socket) }
    }
}

extension NetlinkSocket {
    /// How long the kernel may take, which answers most things before `send` returns.
    static let patience: Duration = .seconds(5)
    /// How often a request that only reads is asked in all: after a lost answer, or a dump that a change crossed. If
    /// all of them were crossed, the changes come as news.
    nonisolated static let attempts = 3

    /// Asks for something to be done.
    func perform(_ request: NetlinkRequest, attempting attempted: String) async throws(NetlinkError) {
        _ = try await walk(request, expecting: .acknowledged, attempting: attempted) { _ in }
    }

    /// Asks for one thing, and again if the answer is lost. Nil when the kernel answers that all is well and nothing
    /// that `decode` understands.
    func reply<Value>(
        to request: NetlinkRequest, attempting attempted: String, decode: @escaping (NetlinkMessage) -> Value?
    ) async throws(NetlinkError) -> Value? {
        var value: Value?
        for attempt in 1...Self.attempts {
            do throws(NetlinkError) {
                _ = try await walk(request, expecting: .reply, attempting: attempted) { value = value ?? decode($0) }
                break
            } catch {
                guard error.reason == .answerLost, attempt < Self.attempts else { throw error }
            }
        }
        return value
    }

    /// Asks for all there is of something. Messages for which `decode` returns nil are left out.
    func dump<Value>(
        _ request: NetlinkRequest, attempting attempted: String, decode: @escaping (NetlinkMessage) -> Value?
    ) async throws(NetlinkError) -> [Value] {
        var values: [Value] = []
        for _ in 1...Self.attempts {
            values = []
            let isConsistent = try await walk(request, attempting: attempted) { message in
                if let value = decode(message) { values.append(value) }
            }
            if isConsistent { break }
        }
        return values
    }

    /// Asks, and hands over each message of the answer as it comes.
    /// - Returns: whether the messages fit together, or a change crossed them.
    func walk(
        _ request: NetlinkRequest, expecting answer: Answer = .dump, attempting attempted: String,
        onMessage: @escaping (NetlinkMessage) -> Void
    ) async throws(NetlinkError) -> Bool {
        let result: Result<Bool, NetlinkError> = await withCheckedContinuation { continuation in
            send(
                request, expecting: answer, attempting: attempted, within: Self.patience, onPart: onMessage
            ) { ending in
                switch ending {
                case .complete: continuation.resume(returning: .success(true))
                case .interrupted: continuation.resume(returning: .success(false))
                case .failed(let error): continuation.resume(returning: .failure(error))
                }
            }
        }
        return try result.get()
    }
}

extension NetlinkSocket {
    /// The answer that the kernel is asked for.
    enum Answer {
        /// Nothing but that it is done.
        case acknowledged
        /// One message or none, then that it is done.
        case reply
        /// Any number of messages, then their end.
        case dump

        var flags: Int32 {
            switch self {
            case .acknowledged, .reply: NLM_F_ACK
            case .dump: NLM_F_ROOT | NLM_F_MATCH
            }
        }
    }

    /// How a request ended.
    enum Ending {
        case complete
        /// All was told, but it changed meanwhile and may not fit together: best asked again.
        case interrupted
        case failed(NetlinkError)
    }

    /// How a request ended, before it is said what was attempted.
    enum Outcome {
        case complete
        case failed(NetlinkError.Reason)
    }

    /// A request whose end the kernel has not told yet.
    struct PendingRequest {
        let attempted: String
        let answer: Answer
        let timer: LoopTimer
        let onPart: (NetlinkMessage) -> Void
        let onEnd: (Ending) -> Void
        private(set) var messages = 0
        private(set) var wasInterrupted = false

        mutating func note(_ message: NetlinkMessage) {
            messages += 1
            // The kernel marks the messages of a dump that crossed a change.
            if answer == .dump, message.has(NLM_F_DUMP_INTR) { wasInterrupted = true }
        }
    }
}

extension Acknowledgement {
    var outcome: NetlinkSocket.Outcome { errno == 0 ? .complete : .failed(.refused(errno: errno, detail: detail)) }
}
