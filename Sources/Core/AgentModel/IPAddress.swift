public enum AddressFamily: Hashable, Sendable {
    case ipv4, ipv6

    public var byteCount: Int {
        switch self {
        case .ipv4: 4
        case .ipv6: 16
        }
    }
}

public struct IPAddress: Hashable, Sendable {
    /// Address family. IPv4-mapped IPv6 addresses (RFC 4291, 2.5.5.2) count as IPv4.
    public let family: AddressFamily
    /// The address in the lowest 32 or 128 bits.
    let bits: UInt128

    init(family: AddressFamily, bits: UInt128) {
        let isMapped = family == .ipv6 && bits >> 32 == 0xffff
        self.family = isMapped ? .ipv4 : family
        self.bits = isMapped ? bits & 0xffff_ffff : bits
    }

    /// - Parameter bytes: 4 or 16 bytes in network order. Other lengths return nil.
    public init?(bytes: some Collection<UInt8>) {
        switch bytes.count {
        case AddressFamily.ipv4.byteCount: self.init(family: .ipv4, bits: Self.number(bytes))
        case AddressFamily.ipv6.byteCount: self.init(family: .ipv6, bits: Self.number(bytes))
        default: return nil
        }
    }

    public var isIPv4: Bool { family == .ipv4 }

    /// Bytes of the address in network order, 4 or 16.
    public var bytes: [UInt8] {
        (0..<family.byteCount).reversed().map { UInt8(truncatingIfNeeded: bits >> (8 * $0)) }
    }

    /// Whether both addresses have the same prefix.
    /// - Parameter length: Prefix length in bits, clamped to 0 to 32 for IPv4, or 0 to 128 for IPv6.
    public func shares(prefix length: Int, with other: IPAddress) -> Bool {
        let rest = width - min(max(length, 0), width)
        return family == other.family && bits >> rest == other.bits >> rest
    }

    /// Length of the address in bits, 32 or 128.
    private var width: Int { family.byteCount * 8 }

    private static func number(_ bytes: some Collection<UInt8>) -> UInt128 {
        bytes.reduce(0) { $0 << 8 | UInt128($1) }
    }
}

extension IPAddress {
    public var isUnspecified: Bool { bits == 0 }

    /// True for 127.0.0.0/8 and ::1.
    public var isLoopback: Bool { isIPv4 ? bits >> 24 == 127 : bits == 1 }

    /// True for 169.254.0.0/16 (RFC 3927) and fe80::/10 (RFC 4291, 2.5.6), which routers do not forward.
    public var isLinkLocal: Bool { isIPv4 ? bits >> 16 == 0xa9fe : bits >> 118 == 0x3fa }

    /// True for 224.0.0.0/4 and ff00::/8.
    public var isMulticast: Bool { isIPv4 ? bits >> 28 == 0xe : bits >> 120 == 0xff }

    /// True for addresses that are not routed on the internet: 10.0.0.0/8, 172.16.0.0/12 and 192.168.0.0/16 (RFC 1918),
    /// 100.64.0.0/10 (RFC 6598), fc00::/7 (RFC 4193).
    public var isPrivate: Bool { isPrivateNetwork(prefix: width) }

    /// Whether all addresses with the same prefix are private.
    /// - Parameter length: 0 to 32 bits for IPv4, 0 to 128 for IPv6. Clamped.
    public func isPrivateNetwork(prefix length: Int) -> Bool {
        Self.privateBlocks.contains { length >= $0.length && shares(prefix: $0.length, with: $0.start) }
    }

    private static let privateBlocks = [
        (start: IPAddress(family: .ipv4, bits: 0x0a00_0000), length: 8),
        (start: IPAddress(family: .ipv4, bits: 0xac10_0000), length: 12),
        (start: IPAddress(family: .ipv4, bits: 0xc0a8_0000), length: 16),
        (start: IPAddress(family: .ipv4, bits: 0x6440_0000), length: 10),
        (start: IPAddress(family: .ipv6, bits: 0xfc << 120), length: 7),
    ]

    /// Whether a host can have this address. False if unspecified, loopback, multicast, "this network" (0/8) or
    /// reserved (RFC 6890, 2.2.2).
    public var isHost: Bool {
        guard !isUnspecified, !isLoopback, !isMulticast else { return false }
        return !isIPv4 || (bits >> 24 != 0 && bits >> 28 != 0xf)
    }

    /// Whether this is a public unicast address. Documentation prefixes count as public: they stand for public hosts.
    public var isGlobal: Bool {
        guard !isUnspecified, !isLoopback, !isLinkLocal, !isMulticast, !isPrivate else { return false }
        switch family {
        // Excludes "this network" and the reserved block with the limited broadcast (RFC 6890, 2.2.2).
        case .ipv4: return bits >> 24 != 0 && bits >> 28 != 0xf
        // 2000::/3 and the NAT64 prefix 64:ff9b::/96 (RFC 6052).
        case .ipv6: return bits >> 125 == 1 || bits >> 32 == 0x64_ff9b << 64
        }
    }
}

extension IPAddress {
    /// - Parameter text: Dotted decimal IPv4, or IPv6 as in RFC 4291, 2.2. A zone after a percent sign is ignored.
    /// - Returns: nil for anything else, including numbers with a leading zero, which some programs read as octal.
    public init?(_ text: some StringProtocol) {
        let address = text.utf8.prefix { $0 != UInt8(ascii: "%") }
        guard address.count <= Self.longestText, address.count == text.utf8.count || address.contains(Self.colon) else {
            return nil
        }
        if let bits = Self.ipv4(address) {
            self.init(family: .ipv4, bits: bits)
        } else if let bits = Self.ipv6(address) {
            self.init(family: .ipv6, bits: bits)
        } else {
            return nil
        }
    }

    /// Maximum length of a text, with six IPv6 groups and an IPv4 address.
    private static let longestText = 45
    private static let colon = UInt8(ascii: ":")

    private static func ipv4(_ text: some Collection<UInt8>) -> UInt128? {
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var bits: UInt128 = 0
        for part in parts {
            guard part.count == 1 || part.first != UInt8(ascii: "0"),
                let number = number(part, digits: 3, radix: 10, as: UInt8.self)
            else { return nil }
            bits = bits << 8 | UInt128(number)
        }
        return bits
    }

    private static func ipv6(_ text: some Collection<UInt8>) -> UInt128? {
        let bytes = Array(text)
        let gap = bytes.indices.dropLast().first { bytes[$0] == colon && bytes[$0 + 1] == colon }
        guard let gap else { return groups(bytes[...]).flatMap { $0.count == 8 ? joined($0) : nil } }
        // A second `::` leaves an empty group in the tail, so `groups` returns nil.
        guard let head = groups(bytes[..<gap], mayEndInIPv4: false), let tail = groups(bytes[(gap + 2)...]),
            head.count + tail.count < 8
        else { return nil }
        return joined(head + Array(repeating: 0, count: 8 - head.count - tail.count) + tail)
    }

    /// Parses groups of 16 bits separated by colons. An IPv4 address may stand for the last two groups.
    private static func groups(_ text: ArraySlice<UInt8>, mayEndInIPv4: Bool = true) -> [UInt16]? {
        guard !text.isEmpty else { return [] }
        var parts = text.split(separator: colon, omittingEmptySubsequences: false)
        var last: [UInt16] = []
        if mayEndInIPv4, let part = parts.last, part.contains(UInt8(ascii: ".")) {
            guard let bits = ipv4(part) else { return nil }
            last = [UInt16(truncatingIfNeeded: bits >> 16), UInt16(truncatingIfNeeded: bits)]
            parts.removeLast()
        }
        let groups = parts.compactMap { number($0, digits: 4, radix: 16, as: UInt16.self) }
        return groups.count == parts.count ? groups + last : nil
    }

    private static func joined(_ groups: [UInt16]) -> UInt128 { groups.reduce(0) { $0 << 16 | UInt128($1) } }

    /// Parses digits only. `Number.init` would accept a sign.
    private static func number<Number: FixedWidthInteger>(
        _ text: some Collection<UInt8>, digits: Int, radix: Int, as _: Number.Type
    ) -> Number? {
        guard 1...digits ~= text.count, text.first != UInt8(ascii: "+"), text.first != UInt8(ascii: "-") else {
            return nil
        }
        return Number(String(decoding: text, as: UTF8.self), radix: radix)
    }
}

extension IPAddress: CustomStringConvertible {
    /// Dotted decimal form for IPv4, RFC 5952 for IPv6.
    public var description: String {
        switch family {
        case .ipv4: bytes.map { "\($0)" }.joined(separator: ".")
        case .ipv6: Self.text(of: (0..<8).reversed().map { UInt16(truncatingIfNeeded: bits >> (16 * $0)) })
        }
    }

    private static func text(of groups: [UInt16]) -> String {
        func text(_ groups: ArraySlice<UInt16>) -> String {
            groups.map { String($0, radix: 16) }.joined(separator: ":")
        }
        // Find the first of the longest runs of at least two zero groups.
        var gap = 0..<0
        var start = 0
        for (index, group) in groups.enumerated() {
            if group != 0 { start = index + 1 }
            if index + 1 - start > max(gap.count, 1) { gap = start..<(index + 1) }
        }
        guard !gap.isEmpty else { return text(groups[...]) }
        return text(groups[..<gap.lowerBound]) + "::" + text(groups[gap.upperBound...])
    }
}
