import AgentModel
import AppProtocol
import NIOCore
import Synchronization

extension TokenBucket {
    package init(_ rate: AppServer.RequestRate) { self.init(rate.perSecond, per: .seconds(1), burst: rate.burst) }

    /// Takes one if there is one.
    /// - Returns: whether it took one.
    package mutating func takeIfReady(at now: Instant) -> Bool {
        guard delay(at: now) == .zero else { return false }
        take()
        return true
    }
}

extension Role {
    /// How many of all connections clients of this role may have. A quarter is for `manage`, which can revoke keys.
    func share(of connections: Int) -> Int { self == .manage ? connections : connections - connections / 4 }
}

/// How many requests the connections of one address may still send, together.
package final class SiteRates: Sendable {
    private let rate: AppServer.RequestRate
    private let maximum: Int
    private let buckets = Mutex<[IPAddress.Site: TokenBucket]>([:])

    /// - Parameter maximum: how many addresses are kept apart at a time.
    package init(_ rate: AppServer.RequestRate, maximum: Int) {
        self.rate = rate
        self.maximum = max(1, maximum)
    }

    /// Takes one from the connection's own bucket and one from its address's.
    /// - Returns: nil, or how long to wait where one of them is empty; then none is taken.
    package func take(_ site: IPAddress.Site, and connection: inout TokenBucket, at now: Instant) -> Duration? {
        buckets.withLock { buckets in
            if buckets[site] == nil { makeRoom(&buckets, at: now) }
            var bucket = buckets[site] ?? TokenBucket(rate)
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
    package init?(_ address: SocketAddress) {
        switch address {
        case .v4(let address): self.init(bytes: withUnsafeBytes(of: address.address.sin_addr) { Array($0) })
        case .v6(let address): self.init(bytes: withUnsafeBytes(of: address.address.sin6_addr) { Array($0) })
        case .unixDomainSocket: return nil
        }
    }

    /// The least that one household or one attacker has: an IPv4 address, or the 64 bits that an IPv6 network shares
    /// (RFC 4291, 2.5.4), within which a host can take any number of addresses.
    package var site: Site { Site(bytes: isIPv4 ? bytes : Array(bytes.prefix(8))) }

    package struct Site: Hashable, Sendable {
        fileprivate let bytes: [UInt8]
        /// The interface of a link-local address: every link has that prefix (RFC 4291, 2.5.6). 0 for others.
        fileprivate var interface: UInt32 = 0
    }
}

extension SocketAddress {
    /// The site of this address; nil for a Unix socket.
    package var site: IPAddress.Site? {
        guard let address = IPAddress(self) else { return nil }
        var site = address.site
        if case .v6(let socket) = self, address.isLinkLocal { site.interface = socket.address.sin6_scope_id }
        return site
    }
}
