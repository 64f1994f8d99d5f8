import AgentModel
import AppProtocol
import NIOCore
import Synchronization

extension TokenBucket {
    package init(_ rate: AppServer.RequestRate) { self.init(rate.perSecond, per: .seconds(1), burst: rate.burst) }

    /// - Returns: true if a token was taken.
    package mutating func consumeIfReady(at now: Instant) -> Bool {
        guard delay(at: now) == .zero else { return false }
        consume()
        return true
    }
}

extension Role {
    /// Returns the share of connections for this role. A quarter is reserved for `manage`, which can revoke keys.
    func share(of connections: Int) -> Int { self == .manage ? connections : connections - connections / 4 }
}

/// Request limits shared by all connections of a site.
package final class SiteRates: Sendable {
    private let rate: AppServer.RequestRate
    private let maximum: Int
    private let buckets = Mutex<[IPAddress.Site: TokenBucket]>([:])

    /// - Parameter maximum: largest number of sites tracked.
    package init(_ rate: AppServer.RequestRate, maximum: Int) {
        self.rate = rate
        self.maximum = max(1, maximum)
    }

    /// Takes a token from the connection's and from the site's bucket, if both have one.
    /// - Returns: nil if the tokens were taken, otherwise the time until both buckets have one.
    package func consume(_ site: IPAddress.Site, and connection: inout TokenBucket, at now: Instant) -> Duration? {
        buckets.withLock { buckets in
            if buckets[site] == nil { makeRoom(&buckets, at: now) }
            var bucket = buckets[site] ?? TokenBucket(rate)
            let delay = max(connection.delay(at: now), bucket.delay(at: now))
            if delay == .zero {
                connection.consume()
                bucket.consume()
            }
            buckets[site] = bucket
            return delay == .zero ? nil : delay
        }
    }

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

    /// Site of the address: an IPv4 address or a /64 of IPv6 (RFC 4291, 2.5.4), in which a single host can use any
    /// address.
    package var site: Site { Site(bytes: isIPv4 ? bytes : Array(bytes.prefix(8))) }

    package struct Site: Hashable, Sendable {
        fileprivate let bytes: [UInt8]
        /// Interface index of a link-local address, whose prefix all links share (RFC 4291, 2.5.6). 0 for others.
        fileprivate var interface: UInt32 = 0

        var isLoopback: Bool { bytes.count == 4 ? bytes[0] == 127 : bytes.allSatisfy { $0 == 0 } }
    }
}

extension SocketAddress {
    package var site: IPAddress.Site? {
        guard let address = IPAddress(self) else { return nil }
        var site = address.site
        if case .v6(let socket) = self, address.isLinkLocal { site.interface = socket.address.sin6_scope_id }
        return site
    }
}
