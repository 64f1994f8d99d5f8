import AgentModel
@preconcurrency import Dispatch  // Its sources may be used from any thread; they do not say so.
import Glibc
import Synchronization

/// Pings one address all the time, from one socket, and notes when each reply came: what a user of the link notices.
public final class Pinger: Sendable {
    public typealias Moment = ContinuousClock.Instant

    /// From one to the next.
    public static let interval = Duration.milliseconds(20)

    private let socket: FileDescriptor
    private let target: IPv4Address
    private let identifier: UInt16
    private let queue = DispatchQueue(label: "lab.pinger", qos: .userInteractive)
    private let timer: any DispatchSourceTimer
    private let arrivals: any DispatchSourceRead
    private let record = Mutex(Record())

    private struct Record {
        /// When each was sent, by its number.
        var sent: [Moment] = []
        var answered: Set<Int> = []
        var replies: [Moment] = []
        var roundTrips: [Duration] = []

        /// The number on the wire begins anew after 65536: the latest that it can be.
        mutating func answered(_ sequence: UInt16) {
            replies.append(.now)
            let latest = sent.count - 1
            let age = Int(UInt16(truncatingIfNeeded: latest) &- sequence)
            guard latest >= age, answered.insert(latest - age).inserted else { return }
            roundTrips.append(.now - sent[latest - age])
        }

        func firstReply(after moment: Moment) -> Moment? {
            guard let last = replies.last, last > moment else { return nil }
            return replies.first { $0 > moment }
        }
    }

    /// - Parameter interval: from one to the next.
    init(target: IPv4Address, identifier: UInt16, every interval: Duration = interval) throws(LabError) {
        self.target = target
        self.identifier = identifier
        socket = try FileDescriptor.socket(AF_INET, SOCK_RAW, Int32(IPPROTO_ICMP))
        timer = DispatchSource.makeTimerSource(queue: queue)
        arrivals = DispatchSource.makeReadSource(fileDescriptor: socket.number, queue: queue)
        timer.setEventHandler { [weak self] in self?.send() }
        arrivals.setEventHandler { [weak self] in self?.receive() }
        // A descriptor must stay open until its source is through with it.
        arrivals.setCancelHandler { [socket] in withExtendedLifetime(socket) {} }
        timer.schedule(deadline: .now(), repeating: .milliseconds(Int(interval.milliseconds)))
        arrivals.resume()
        timer.resume()
    }

    deinit { end() }

    /// The first reply after `moment` so far.
    public func firstReply(after moment: Moment) -> Moment? {
        record.withLock { $0.firstReply(after: moment) }
    }

    /// From each that was answered until its answer, in the order of the answers.
    public var roundTrips: [Duration] { record.withLock { $0.roundTrips } }

    /// The last reply so far.
    public var lastReply: Moment? { record.withLock { $0.replies.last } }

    /// The longest time without a reply between `moment` and now.
    public func longestGap(since moment: Moment) -> Duration {
        let edges = record.withLock { [moment] + $0.replies.drop { $0 <= moment } } + [ContinuousClock.now]
        return zip(edges, edges.dropFirst()).map { $1 - $0 }.max() ?? .zero
    }

    /// How many that were sent since `moment` were never answered. Those of the last second may still be.
    public func lost(since moment: Moment) -> Int {
        let end = Moment.now - .seconds(1)
        return record.withLock { record in
            record.sent.indices.count {
                record.sent[$0] >= moment && record.sent[$0] < end && !record.answered.contains($0)
            }
        }
    }

    /// Waits for a reply that comes after `moment` and tells when it came.
    @discardableResult
    public func reply(after moment: Moment = .now, within limit: Duration) async throws -> Moment {
        var reply: Moment?
        try await eventually(within: limit, "a ping answered by \(target)") {
            reply = firstReply(after: moment)
            return reply != nil
        }
        return reply ?? moment
    }

    /// Waits until nothing has been answered for `pause`.
    public func silence(of pause: Duration, within limit: Duration) async throws {
        let start = ContinuousClock.now
        try await eventually(within: limit, "no more answers from \(target)") {
            let last = record.withLock { $0.replies.last } ?? start
            return ContinuousClock.now - max(last, start) >= pause
        }
    }

    /// Sends no more.
    public func end() {
        timer.cancel()
        arrivals.cancel()
    }

    // MARK: The wire (RFC 792)

    private func send() {
        let sequence = record.withLock { record in
            record.sent.append(.now)
            return UInt16(truncatingIfNeeded: record.sent.count - 1)
        }
        var words = [UInt16(0x0800), 0, identifier, sequence]
        let sum = words.reduce(UInt32(0)) { $0 + UInt32($1) }
        words[1] = ~UInt16(truncatingIfNeeded: sum + sum >> 16)
        let packet = words.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xff)] }
        // No route, no link: that is what is being measured.
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
            record.withLock { $0.answered(sequence) }
        }
    }
}
