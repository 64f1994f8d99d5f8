#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// An address of the internet protocol, by value: the same one compares equal however it was written.
public struct IPAddress: Hashable, Sendable {
    /// 4 or 16 bytes in network order. An IPv4 address that IPv6 carries (RFC 4291, 2.5.5.2) has 4.
    public let bytes: [UInt8]

    /// - Returns: nil unless there are 4 or 16 bytes.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = bytes.starts(with: Self.mappedPrefix) ? Array(bytes.suffix(4)) : Array(bytes)
    }

    /// Reads `192.0.2.1`, all four numbers of it, or `2001:db8::1`. The zone of an IPv6 address (`%wlan0`) is left out:
    /// it says where an address is, not which.
    public init?(_ text: some StringProtocol) {
        // A terminator within would have the rest overlooked.
        guard !text.utf8.contains(0) else { return nil }
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, String(text), &bytes) == 1 {
            self.init(bytes: bytes.prefix(4))
        } else if inet_pton(AF_INET6, String(text.prefix { $0 != "%" }), &bytes) == 1 {
            self.init(bytes: bytes)
        } else {
            return nil
        }
    }

    public static let loopbackIPv4 = IPAddress(known: [127, 0, 0, 1])
    public static let loopbackIPv6 = IPAddress(known: Array(repeating: 0, count: 15) + [1])

    private init(known bytes: [UInt8]) { self.bytes = bytes }

    public var isIPv4: Bool { bytes.count == 4 }
    /// RFC 1122, 3.2.1.3; RFC 4291, 2.5.3.
    public var isLoopback: Bool { isIPv4 ? bytes[0] == 127 : self == .loopbackIPv6 }
    /// Good on one link alone: 169.254.0.0/16 (RFC 3927) or fe80::/10 (RFC 4291, 2.5.6).
    public var isLinkLocal: Bool {
        isIPv4 ? bytes.starts(with: [169, 254]) : bytes[0] == 0xfe && bytes[1] & 0xc0 == 0x80
    }

    private static let mappedPrefix: [UInt8] = Array(repeating: 0, count: 10) + [0xff, 0xff]
}

extension IPAddress: CustomStringConvertible {
    /// As RFC 5952 has it.
    public var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_ntop(isIPv4 ? AF_INET : AF_INET6, bytes, &text, socklen_t(text.count)) != nil else { return "" }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
