import Foundation

/// A port of the loopback interface that no program has, below those that the kernel gives to others
/// (ip_local_port_range), so that it stays free.
/// - Throws: `POSIXError` where a hundred ports drawn are taken.
public func freePort() throws -> Int {
    for _ in 0..<100 {
        let port = in_port_t.random(in: 10_000..<32_000)
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = in_addr_t(INADDR_LOOPBACK).bigEndian
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        if result == 0 { return Int(port) }
    }
    throw POSIXError(.EADDRINUSE)
}
