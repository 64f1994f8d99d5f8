import Foundation
import Glibc
import Linux
import TestTime

/// Passes the bytes of one connection on to a device's socket, and tells when the device has said its first line.
final class LineRelay: Sendable {
    /// The path of the socket to connect to.
    let path: String
    private let answered = Observed(false)

    /// - Parameter socket: the path of the device's socket.
    init(to socket: String) throws {
        path = socket + "-relay"
        let listener = try Self.socket(at: path) { bind($0, $1, $2) }
        guard listen(listener, 1) == 0 else { throw POSIXError(.EADDRINUSE) }
        Thread.detachNewThread { [answered] in
            defer { close(listener) }
            let near = accept(listener, nil, nil)
            guard near >= 0 else { return }
            defer { close(near) }
            guard let far = try? Self.socket(at: socket, { connect($0, $1, $2) }) else { return }
            defer { close(far) }
            while true {
                let isReady = Readiness.wait(for: [(near, .readable), (far, .readable)], within: nil)
                if isReady[0], Self.pass(from: near, to: far).isEmpty { return }
                guard isReady[1] else { continue }
                let said = Self.pass(from: far, to: near)
                if said.isEmpty { return }
                if said.contains(UInt8(ascii: "\n")) { answered.change { $0 = true } }
            }
        }
    }

    /// Returns once the device has answered the first request.
    func hasAnswered() async throws { try await answered.wait("the first answer") { $0 } }

    /// - Returns: the bytes that were passed on; none at the end of the connection.
    private static func pass(from source: Int32, to destination: Int32) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = recv(source, &bytes, bytes.count, 0)
        guard count > 0, send(destination, bytes, count, Int32(MSG_NOSIGNAL)) == count else { return [] }
        return Array(bytes[..<count])
    }

    private static func socket(
        at path: String, _ join: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws -> Int32 {
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                join(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        return descriptor
    }
}
