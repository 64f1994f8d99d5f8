import CNetlink
import Glibc
import Linux

/// A non-blocking netlink socket for requests and notifications. Answers and notifications arrive in one order. This
/// order shows whose scan has ended, and if a disconnection came before an answer.
@AgentLoop
final class NetlinkSocket {
    enum Subsystem {
        case generic
        case route
    }

    /// Called for each message that does not answer a request.
    var onNotification: (NetlinkMessage) -> Void = { _ in }
    /// Called after the kernel has dropped messages because they were not read in time. The kernel does not say which
    /// messages.
    var onOverrun: () -> Void = {}

    private let subsystem: Subsystem
    private let handle: Handle
    private let buffer: ReceiveBuffer
    let port: UInt32
    private var watch: ReadWatch?
    private var isMissingMessages = false
    private var pending: [UInt32: PendingRequest] = [:]
    private var lastSequence: UInt32 = 0
    /// Sequence number of the running dump. The kernel answers one dump at a time per socket.
    private var dumpUnderWay: UInt32?
    private var waitingDumps: [(sequence: UInt32, message: [UInt8])] = []

    /// Maximum number of datagrams read in a row, so that a flood does not delay timers and other sockets.
    private static let datagramsPerTurn = 64
    private static let maximumParts = 16 * 1024
    private let maximumPending: Int

    /// - Parameters:
    ///   - receiveBuffer: bytes that the kernel may queue, at most `net.core.rmem_max`, including kernel overhead.
    ///   - maximumPending: maximum number of unanswered requests.
    init(
        _ subsystem: Subsystem, receiveBuffer: Int = 256 * 1024, maximumPending: Int = 64
    ) throws(NetlinkError) {
        guard let socket = nl_socket_alloc(), let buffer = ReceiveBuffer() else {
            throw NetlinkError(attempted: "make a netlink socket", reason: .refused(errno: ENOMEM, detail: nil))
        }
        (self.subsystem, self.maximumPending) = (subsystem, maximumPending)
        handle = Handle(socket)
        self.buffer = buffer
        // This class, not libnl, handles sequence numbers and acknowledgements.
        nl_socket_disable_auto_ack(socket)
        nl_socket_disable_seq_check(socket)
        let connected = subsystem == .generic ? genl_connect(socket) : nl_connect(socket, NETLINK_ROUTE)
        guard connected == 0 else { throw Self.failure("open a netlink socket") }
        guard nl_socket_set_nonblocking(socket) == 0,
            nl_socket_set_buffer_size(socket, Int32(clamping: receiveBuffer), 0) == 0
        else { throw Self.failure("set up a netlink socket") }
        port = nl_socket_get_local_port(socket)
        // Ignores failures: without these options, refusals are longer and have no text.
        for option in [NETLINK_CAP_ACK, NETLINK_EXT_ACK] {
            var on: Int32 = 1
            setsockopt(handle.fileDescriptor, SOL_NETLINK, option, &on, socklen_t(MemoryLayout.size(ofValue: on)))
        }
        watch = ReadWatch(fileDescriptor: handle.fileDescriptor) { [weak self] in self?.receive() }
    }

    isolated deinit {
        // The loop may use the descriptor until the cancellation completes.
        watch?.cancel { [handle] in withExtendedLifetime(handle) {} }
        waitingDumps = []
        for sequence in pending.keys.sorted() { finish(sequence, .failed(.refused(errno: EBADF, detail: nil))) }
    }

    func join(group: Int, named name: String) throws(NetlinkError) {
        guard nl_socket_add_membership(handle.socket, Int32(clamping: group)) == 0 else {
            throw Self.failure("listen to the multicast group \(name)")
        }
    }

    // MARK: Requests

    /// Sends a request. Calls `onPart` for each message of the reply, and `onEnd` exactly once: after this method
    /// returns, or before if sending fails.
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
        // Skips 0, the sequence number of notifications.
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
            // Skips dumps that have timed out meanwhile.
            if pending[next.sequence] != nil { transmit(next.message, next.sequence) }
        }
    }

    // MARK: Receiving

    private func receive() {
        for _ in 0..<Self.datagramsPerTurn {
            switch nextDatagram() {
            // Ignores messages of other processes: only the kernel has port 0.
            case .datagram(_, sender: 1...): continue
            case .datagram(let bytes, _): if dispatch(NetlinkDatagram(bytes)) { return receiveLater() }
            case .failed(errno: EAGAIN): return handleOverrun()
            case .failed(errno: EINTR): continue
            // ENOBUFS, a truncated datagram or a dump error means that messages are missing.
            default: isMissingMessages = true
            }
        }
        receiveLater()
    }

    private enum Received {
        case datagram([UInt8], sender: UInt32)
        case failed(errno: Int32)
    }

    private func nextDatagram() -> Received {
        var sender = sockaddr_nl()
        var senderLength = socklen_t(MemoryLayout.size(ofValue: sender))
        // With MSG_TRUNC, the result is the full length of the datagram.
        let length = withUnsafeMutablePointer(to: &sender) { sender in
            sender.withMemoryRebound(to: sockaddr.self, capacity: 1) { sender in
                recvfrom(handle.fileDescriptor, buffer.start, buffer.count, Int32(MSG_TRUNC), sender, &senderLength)
            }
        }
        guard length >= 0 else { return .failed(errno: errno) }
        guard length <= buffer.count else { return .failed(errno: EMSGSIZE) }
        return .datagram(buffer.read(length), sender: sender.nl_pid)
    }

    /// - Returns: the index of the interface, or nil if none has the name.
    func index(of interface: String) -> Int? {
        let index = interface_index(handle.fileDescriptor, interface)
        return index == 0 ? nil : Int(index)
    }

    /// Fails pending requests after an overrun, once the queue is empty. Dumps continue. The kernel answers other
    /// requests before `nl_sendto` returns, so their answers are lost.
    private func handleOverrun() {
        guard isMissingMessages else { return }
        isMissingMessages = false
        for (sequence, request) in pending where request.answer != .dump { finish(sequence, .failed(.answerLost)) }
        onOverrun()
    }

    /// Continues to receive after the tasks that await the last answer, so that they see the state at that answer. The
    /// watch cannot do this: a pending overrun sends no message that wakes it.
    private func receiveLater() {
        Task { [weak self] in self?.receive() }
    }

    /// - Returns: true if a request has ended.
    private func dispatch(_ datagram: NetlinkDatagram) -> Bool {
        var hasEnded = false
        for message in datagram {
            switch classify(message) {
            case .notification: onNotification(message)
            case .part:
                pending[message.sequence]?.record(message)
                guard let request = pending[message.sequence] else { continue }
                if request.messages <= Self.maximumParts {
                    request.onPart(message)
                } else {
                    finish(message.sequence, .failed(.malformed("more than \(Self.maximumParts) messages")))
                }
            // If unread messages leave no room, the kernel refuses a dump but still sends it when there is room
            // (af_netlink.c, `netlink_dump` called by `netlink_dump_start` and later by `netlink_recvmsg`).
            case .ending(let refusal) where refusal.errno == ENOBUFS && pending[message.sequence]?.answer == .dump:
                break
            case .ending(let acknowledgement):
                hasEnded = true
                pending[message.sequence]?.record(message)
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
        /// A late answer after a timeout, or an unknown message.
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
        // rtnetlink marks notifications of the agent's own changes with this socket's port and sequence number.
        default: return .notification
        }
    }

    private static func failure(_ attempted: String) -> NetlinkError {
        NetlinkError(attempted: attempted, reason: .refused(errno: errno, detail: nil))
    }

    /// Buffer for the largest datagram. After each read, pages beyond the first return to the kernel. Only the loop
    /// uses it; any thread may free it.
    private final class ReceiveBuffer: @unchecked Sendable {
        let start: UnsafeMutableRawPointer
        /// Size of the buffer. The kernel sizes its dumps by it, up to 32 KiB (af_netlink.c, `netlink_recvmsg`).
        let count = 32 * 1024
        private static let page = Int(getpagesize())

        init?() {
            guard let start = mmap(nil, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                start != MAP_FAILED
            else { return nil }
            self.start = start
        }

        deinit { munmap(start, count) }

        /// - Parameter length: in bytes, at most `count`.
        func read(_ length: Int) -> [UInt8] {
            defer { if length > Self.page { madvise(start + Self.page, count - Self.page, MADV_DONTNEED) } }
            return Array(UnsafeRawBufferPointer(start: start, count: length))
        }
    }

    /// libnl's socket, freed together with the last reference.
    private final class Handle: @unchecked Sendable {  // Only the loop uses it; any thread may free it.
        let socket: OpaquePointer

        init(_ socket: OpaquePointer) { self.socket = socket }
        deinit { nl_socket_free(socket) }

        var fileDescriptor: Int32 { nl_socket_get_fd(socket) }
    }
}

extension NetlinkSocket {
    /// Time limit for answers. The kernel answers most requests before `send` returns.
    static let patience: Duration = .seconds(5)
    /// Total attempts for a read request, after a lost answer or an inconsistent dump. If all attempts fail, later
    /// notifications report the changes.
    nonisolated static let attempts = 3

    func perform(_ request: NetlinkRequest, attempting attempted: String) async throws(NetlinkError) {
        _ = try await walk(request, expecting: .acknowledged, attempting: attempted) { _ in }
    }

    /// Requests one value; repeats if the answer is lost. Returns nil if the kernel reports success without a message
    /// that `decode` accepts.
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

    /// Requests a dump. Skips messages for which `decode` returns nil.
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

    /// Sends a request and passes each message of the answer to `onMessage`.
    /// - Returns: true if the messages are consistent; false if a change interrupted the dump.
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
    enum Answer {
        /// The kernel sends only an acknowledgement.
        case acknowledged
        /// The kernel sends at most one message, then an acknowledgement.
        case reply
        /// The kernel sends any number of messages, then an end marker.
        case dump

        var flags: Int32 {
            switch self {
            case .acknowledged, .reply: NLM_F_ACK
            case .dump: NLM_F_ROOT | NLM_F_MATCH
            }
        }
    }

    enum Ending {
        case complete
        /// The dump is complete but may be inconsistent, because data changed meanwhile. Repeat it.
        case interrupted
        case failed(NetlinkError)
    }

    /// Result of a request: like `Ending`, but without the name of the attempt.
    enum Outcome {
        case complete
        case failed(NetlinkError.Reason)
    }

    struct PendingRequest {
        let attempted: String
        let answer: Answer
        let timer: LoopTimer
        let onPart: (NetlinkMessage) -> Void
        let onEnd: (Ending) -> Void
        private(set) var messages = 0
        private(set) var wasInterrupted = false

        mutating func record(_ message: NetlinkMessage) {
            messages += 1
            // The kernel sets this flag if a change interrupted the dump.
            if answer == .dump, message.has(NLM_F_DUMP_INTR) { wasInterrupted = true }
        }
    }
}

extension Acknowledgement {
    var outcome: NetlinkSocket.Outcome { errno == 0 ? .complete : .failed(.refused(errno: errno, detail: detail)) }
}
