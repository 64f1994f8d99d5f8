import Foundation

/// A port on 127.0.0.1 that answers nobody: its queue of connections is full, and the kernel drops what comes.
final class FullQueue {
    let port: Int
    private var sockets: [Int32] = []

    init() throws {
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        port = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard bind(server, address, length) == 0, listen(server, 0) == 0,
                    getsockname(server, address, &length) == 0
                else { return 0 }
                return Int(UInt16(bigEndian: pointer.pointee.sin_port))
            }
        }
        sockets = [server]
        guard port > 0 else { throw POSIXError(.EADDRINUSE) }
        // One more than the queue holds (listen(2)), none of which is accepted.
        for _ in 0..<2 {
            let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
            sockets.append(client)
            withUnsafePointer(to: &address) { pointer in
                _ = pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(client, $0, length) }
            }
        }
    }

    /// Waits until somebody has tried to connect in vain (/proc/net/tcp: state 02 is SYN_SENT).
    func isTried() async throws {
        let remote = String(format: "0100007F:%04X", port)
        let own = Set(sockets.map(Self.localAddress))
        let deadline = ContinuousClock.now + .seconds(20)
        while ContinuousClock.now < deadline {
            let table = try FileHandle(forReadingAtPath: "/proc/net/tcp")?.readToEnd() ?? Data()
            for line in String(decoding: table, as: UTF8.self).split(separator: "\n") {
                let fields = line.split(separator: " ").map(String.init)
                guard fields.count > 3, fields[2] == remote, fields[3] == "02" else { continue }
                // Those above may wait or not: that depends on how soon the kernel has counted the first of them.
                if !own.contains(fields[1]) { return }
            }
            await Task.yield()
        }
        throw POSIXError(.ETIMEDOUT)
    }

    /// As /proc/net/tcp writes it.
    private static func localAddress(of socket: Int32) -> String {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &length) }
        }
        return String(format: "0100007F:%04X", UInt16(bigEndian: address.sin_port))
    }

    func close() { for socket in sockets { Glibc.close(socket) } }
}
