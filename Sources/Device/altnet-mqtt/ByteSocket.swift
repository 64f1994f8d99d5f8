import AgentModel
import Glibc
import Linux

/// A non-blocking stream socket with buffered output.
final class ByteSocket {
    private let descriptor: Int32
    private let longestOutput: Int
    private var output: [UInt8] = []

    /// - Parameters:
    ///   - descriptor: socket, which this object closes.
    ///   - longestOutput: limit of unsent bytes. If the other end does not read and more waits, the connection is shut
    ///     down.
    init(_ descriptor: Int32, longestOutput: Int) {
        (self.descriptor, self.longestOutput) = (descriptor, longestOutput)
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    }

    /// Connects to a Unix socket.
    convenience init(path: String, longestOutput: Int) throws(SystemError) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
            throw SystemError("connect to \(path)", errno: ENAMETOOLONG)
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        self.init(
            try Self.connected(AF_UNIX, to: address, flags: 0, "connect to \(path)"), longestOutput: longestOutput)
    }

    /// Connects to a TCP port of this machine, without waiting for the connection.
    convenience init(port: Int, longestOutput: Int) throws(SystemError) {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(clamping: port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let flags = Int32(SOCK_NONBLOCK.rawValue)
        self.init(
            try Self.connected(AF_INET, to: address, flags: flags, "connect to port \(port)"),
            longestOutput: longestOutput)
    }

    private static func connected<Address>(
        _ family: Int32, to address: Address, flags: Int32, _ attempt: String
    ) throws(SystemError) -> Int32 {
        let descriptor = socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | flags, 0)
        guard descriptor >= 0 else { throw SystemError("make a socket") }
        let result = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<Address>.size))
            }
        }
        guard result == 0 || errno == EINPROGRESS else {
            let error = errno
            close(descriptor)
            throw SystemError(attempt, errno: error)
        }
        return descriptor
    }

    deinit { close(descriptor) }

    /// - Parameter input: readiness of the input to wait for; nil for none.
    func waits(for input: Readiness?) -> [(descriptor: Int32, readiness: Readiness)] {
        (input.map { [(descriptor, $0)] } ?? []) + (output.isEmpty ? [] : [(descriptor, .writable)])
    }

    var hasOutput: Bool { !output.isEmpty }

    func write(_ bytes: [UInt8]) {
        output += bytes
        _ = flush()
        if output.count > longestOutput { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }

    /// - Returns: false if the connection has failed.
    func flush() -> Bool {
        while !output.isEmpty {
            let count = output.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count < 0, errno != EINTR { return errno == EAGAIN }
            output.removeFirst(max(0, count))
        }
        return true
    }

    enum Input {
        case bytes([UInt8])
        case nothing
        case ended(String)
    }

    /// Reads at most 16 KiB.
    func read() -> Input {
        var buffer = [UInt8](repeating: 0, count: 16 * 1024)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        if count < 0, errno == EAGAIN || errno == EINTR { return .nothing }
        guard count > 0 else {
            return .ended(count == 0 ? "the connection was closed" : String(cString: strerror(errno)))
        }
        return .bytes(Array(buffer[..<count]))
    }
}
