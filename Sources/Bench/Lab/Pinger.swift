import AgentModel
@preconcurrency import Dispatch  // Dispatch is thread-safe, but its types are not marked Sendable.
import Glibc
import Synchronization

/// Pings an address continuously from one socket and records the replies. This measures the link as a user notices it.
public final class Pinger: Sendable {
    public typealias Moment = ContinuousClock.Instant

    public static let interval = Duration.milliseconds(20)

    private let socket: FileDescriptor
    private let target: IPv4Address
    private let identifier: UInt16
    private let queue = DispatchQueue(label: "lab.pinger", qos: .userInteractive)
    private let timer: any DispatchSourceTimer
    private let arrivals: any DispatchSourceRead
    private let record = Mutex(Record())

    private struct Record {
        var sent: [Moment] = []
        var answeredSequences: Set<Int> = []
        var replies: [Moment] = []
        var roundTrips: [Duration] = []

        /// Records a reply. Sequence numbers in packets wrap at 65536, so the latest ping with this number counts.
        mutating func recordReply(_ sequence: UInt16) {
            replies.append(.now)
            let latest = sent.count - 1
            let age = Int(UInt16(truncatingIfNeeded: latest) &- sequence)
            guard latest >= age, answeredSequences.insert(latest - age).inserted else { return }
            roundTrips.append(.now - sent[latest - age])
        }

        func firstReply(after moment: Moment) -> Moment? {
            guard let last = replies.last, last > moment else { return nil }
            return replies.first { $0 > moment }
        }
    }

    init(target: IPv4Address, identifier: UInt16, every interval: Duration) throws(LabError) {
        self.target = target
        self.identifier = identifier
        socket = try FileDescriptor.socket(AF_INET, SOCK_RAW, Int32(IPPROTO_ICMP))
        timer = DispatchSource.makeTimerSource(queue: queue)
        arrivals = DispatchSource.makeReadSource(fileDescriptor: socket.number, queue: queue)
        timer.setEventHandler { [weak self] in self?.send() }
        arrivals.setEventHandler { [weak self] in self?.receive() }
        // Keep the descriptor open until the source is cancelled.
        arrivals.setCancelHandler { [socket] in withExtendedLifetime(socket) {} }
        timer.schedule(deadline: .now(), repeating: .milliseconds(Int(interval.milliseconds)))
        arrivals.resume()
        timer.resume()
    }

    deinit { end() }

    public func firstReply(after moment: Moment) -> Moment? {
        record.withLock { $0.firstReply(after: moment) }
    }

    /// Round-trip times in the order of the replies.
    public var roundTrips: [Duration] { record.withLock { $0.roundTrips } }

    public var lastReply: Moment? { record.withLock { $0.replies.last } }

    /// Longest time without a reply between `moment` and now.
    public func longestGap(since moment: Moment) -> Duration {
        let edges = record.withLock { [moment] + $0.replies.drop { $0 <= moment } } + [ContinuousClock.now]
        return zip(edges, edges.dropFirst()).map { $1 - $0 }.max() ?? .zero
    }

    /// Times without a reply that are longer than `limit`, from the first reply until now.
    public func gaps(longerThan limit: Duration) -> [Range<Moment>] {
        let edges = record.withLock { $0.replies } + [ContinuousClock.now]
        return zip(edges, edges.dropFirst()).filter { $1 - $0 > limit }.map { $0..<$1 }
    }

    /// Number of unanswered pings since `moment`. Pings of the last second do not count.
    public func lost(since moment: Moment) -> Int {
        let end = Moment.now - .seconds(1)
        return record.withLock { record in
            record.sent.indices.count {
                record.sent[$0] >= moment && record.sent[$0] < end && !record.answeredSequences.contains($0)
            }
        }
    }

    /// Waits for a reply after `moment` and returns its time.
    @discardableResult
    public func reply(after moment: Moment = .now, within limit: Duration) async throws -> Moment {
        var reply: Moment?
        try await eventually(within: limit, "a ping answered by \(target)") {
            reply = firstReply(after: moment)
            return reply != nil
        }
        return reply ?? moment
    }

    /// Waits until no reply has arrived for `pause`.
    public func silence(of pause: Duration, within limit: Duration) async throws {
        let start = ContinuousClock.now
        try await eventually(within: limit, "no more answers from \(target)") {
            let last = record.withLock { $0.replies.last } ?? start
            return ContinuousClock.now - max(last, start) >= pause
        }
    }

    public func end() {
        timer.cancel()
        arrivals.cancel()
    }

    // MARK: Packets (RFC 792)

    private func send() {
        let sequence = record.withLock { record in
            record.sent.append(.now)
            return UInt16(truncatingIfNeeded: record.sent.count - 1)
        }
        var words = [UInt16(0x0800), 0, identifier, sequence]
        let sum = words.reduce(UInt32(0)) { $0 + UInt32($1) }
        words[1] = ~UInt16(truncatingIfNeeded: sum + sum >> 16)
        let packet = words.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xff)] }
        // Ignore failures such as a missing route: the pinger counts them as lost pings.
        _ = target.withSocketAddress { sendto(socket.number, packet, packet.count, 0, $0, $1) }
    }

    private func receive() {
        var packet = [UInt8](repeating: 0, count: 256)
        while case let count = recv(socket.number, &packet, packet.count, 0), count > 0 {
            let header = Int(packet[0] & 0xf) * 4
            guard count >= header + 8, packet[header] == 0,
                UInt16(packet[header + 4]) << 8 | UInt16(packet[header + 5]) == identifier
            else { continue }
            let sequence = UInt16(packet[header + 6]) << 8 | UInt16(packet[header + 7])
            record.withLock { $0.recordReply(sequence) }
        }
    }
}
