#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Addresses as they are written.
enum IPText {
    static func ipv4(_ bytes: [UInt8]) -> String { bytes.map(String.init).joined(separator: ".") }

    /// As RFC 5952 has it.
    /// - Parameter bytes: 16 of them.
    static func ipv6(_ bytes: [UInt8]) -> String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard bytes.count == 16, inet_ntop(AF_INET6, bytes, &text, socklen_t(text.count)) != nil else { return "" }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
