import AgentModel
import NIOCore
import Synchronization

/// Grants things at a steady rate, and several at once after a rest.
struct TokenBucket: Sendable {
    /// The cost of one thing and the present level, as the time in microseconds that fills it.
    private let cost: Int64
    private let capacity: Int64
    private var level: Int64
    private var lastFilled: Instant

    /// - Parameters:
    ///   - interval: from one to the next in the long run, at least a microsecond.
    ///   - burst: how many at once after a rest.
    init(interval: Duration, burst: Int, at now: Instant) {
        cost = max(1, interval.microseconds)
        capacity = cost * Int64(burst)
        level = capacity
        lastFilled = now
    }

    init(_ rate: AppServer.RequestRate, at now: Instant) {
        self.init(interval: .microseconds(1_000_000 / Int64(rate.perSecond)), burst: rate.burst, at: now)
    }

    /// How long it takes until one can be taken.
    mutating func delay(at now: Instant) -> Duration {
        // Whatever the clock does, it is full after this.
        let elapsed = min(max(.zero, now - lastFilled).milliseconds, capacity / 1000 + 1)
        level = min(capacity, level + elapsed * 1000)
        lastFilled = now
        return .microseconds(max(0, cost - level))
    }

    /// Takes one that ``delay(at:)`` has found.
    mutating func take() { level -= cost }

    /// Whether forgetting it would change nothing.
    var isFull: Bool { level >= capacity }
}

extension Duration {
    fileprivate var microseconds: Int64 { components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000 }
}

/// How many requests the connections of one address may still send, together.
final class SiteRates: Sendable {
    private let rate: AppServer.RequestRate
    private let maximum: Int
    private let buckets = Mutex<[IPAddress.Site: TokenBucket]>([:])

    /// - Parameter maximum: how many addresses are kept apart at a time.
    init(_ rate: AppServer.RequestRate, maximum: Int) {
        self.rate = rate
        self.maximum = max(1, maximum)
    }

    /// Takes one from the connection's own bucket and one from its address's.
    /// - Returns: nil, or how long to wait where one of them is empty; then none is taken.
    func take(_ site: IPAddress.Site, and connection: inout TokenBucket, at now: Instant) -> Duration? {
        buckets.withLock { buckets in
            if buckets[site] == nil { makeRoom(&buckets, at: now) }
            var bucket = buckets[site] ?? TokenBucket(rate, at: now)
            let delay = max(connection.delay(at: now), bucket.delay(at: now))
            if delay == .zero {
                connection.take()
                bucket.take()
            }
            buckets[site] = bucket
            return delay == .zero ? nil : delay
        }
    }

    /// How many addresses are kept apart now.
    var count: Int { buckets.withLock { $0.count } }

    private func makeRoom(_ buckets: inout [IPAddress.Site: TokenBucket], at now: Instant) {
        guard buckets.count >= maximum else { return }
        var delays = buckets
        for site in buckets.keys { _ = delays[site]?.delay(at: now) }
        buckets = delays.filter { !$0.value.isFull }
        if buckets.count >= maximum, let any = buckets.keys.first { buckets[any] = nil }
    }
}

extension IPAddress {
    /// - Returns: nil for the address of a Unix socket.
    init?(_ address: SocketAddress) {
        switch address {
        case .v4(let address): self.init(bytes: withUnsafeBytes(of: address.address.sin_addr) { Array($0) })
        case .v6(let address): self.init(bytes: withUnsafeBytes(of: address.address.sin6_addr) { Array($0) })
        case .unixDomainSocket: return nil
        }
    }

    /// The least that one household or one attacker has: an IPv4 address, or the 64 bits that an IPv6 network shares
    /// (RFC 4291, 2.5.4), within which a host can take any number of addresses. All of a link share the prefix of
    /// its own addresses (RFC 4291, 2.5.6), so there each counts.
    var site: Site { Site(bytes: isIPv4 || isLinkLocal ? bytes : Array(bytes.prefix(8))) }

    struct Site: Hashable, Sendable {
        fileprivate let bytes: [UInt8]
    }
}
