import AgentModel
import AppProtocol
import Glibc
import Linux

final class AgentSocket {
    private let descriptor: Int32
    private var splitter = LineSplitter()
    private var output: [UInt8] = []
    /// Maximum unsent output in bytes. If the agent does not read and more output waits, the connection is shut down.
    private static let longestOutput = 1 << 20

    /// - Throws: `SystemError` if the connection fails.
    init(path: String) throws(SystemError) {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SystemError("make a socket") }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
            close(descriptor)
            throw SystemError("connect to \(path)", errno: ENAMETOOLONG)
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else {
            let error = errno
            close(descriptor)
            throw SystemError("connect to \(path)", errno: error)
        }
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    }

    deinit { close(descriptor) }

    var waits: [(descriptor: Int32, readiness: Readiness)] {
        output.isEmpty ? [(descriptor, .readable)] : [(descriptor, .readable), (descriptor, .writable)]
    }

    func write(_ line: [UInt8]) {
        output += line + [UInt8(ascii: "\n")]
        flush()
    }

    private func flush() {
        while !output.isEmpty {
            let count = output.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            // Ignore the error: the next read reports it.
            guard count > 0 else { break }
            output.removeFirst(count)
        }
        if output.count > Self.longestOutput { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }

    enum News {
        case line([UInt8])
        case ended(String)
    }

    func read() -> [News] {
        flush()
        var news: [News] = []
        var buffer = [UInt8](repeating: 0, count: 16 * 1024)
        // Read at most 64 KiB in one call, so that the broker's messages do not wait.
        for _ in 0..<4 {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count < 0, errno == EAGAIN || errno == EINTR { break }
            guard count > 0 else {
                return news + [.ended(count == 0 ? "the connection was closed" : String(cString: strerror(errno)))]
            }
            splitter.append(buffer[..<count])
            while let next = splitter.next() {
                switch next {
                case .line(let line): news.append(.line(line))
                case .lineTooLong: return news + [.ended("its line was too long")]
                }
            }
            if count < buffer.count { break }
        }
        return news
    }
}
