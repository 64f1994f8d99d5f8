import Glibc

/// An IPv4 address.
public struct IPv4Address: Hashable, Sendable {
    /// Most significant byte first: 10.1.0.1 is 0x0a010001.
    public let value: UInt32

    init(value: UInt32) { self.value = value }

    public init(_ a: UInt8, _ b: UInt8, _ c: UInt8, _ d: UInt8) {
        value = UInt32(a) << 24 | UInt32(b) << 16 | UInt32(c) << 8 | UInt32(d)
    }

    /// Calls `body` with the address and port as the system calls want them.
    func withSocketAddress<Value>(port: UInt16 = 0, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Value) -> Value {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = value.bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}

extension IPv4Address: CustomStringConvertible {
    public var description: String {
        stride(from: 24, through: 0, by: -8).map { String(value >> UInt32($0) & 0xff) }.joined(separator: ".")
    }
}
