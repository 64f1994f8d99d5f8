import AgentModel
import Glibc
import Linux

/// Error of an exchange with one of root's helpers.
enum HelperFailure: Error, Equatable {
    case notThere(path: String)
    case silent
    case failed(String)
}

/// One request to one of root's helpers, and its answer. systemd owns the socket and starts a process for each request.
@AgentLoop
final class HelperExchange {
    private let descriptor: Int32
    private let longestAnswer: Int
    private let isLine: Bool
    private var watch: ReadWatch?
    private var timer: LoopTimer?
    private var answer: [UInt8] = []
    private var onEnd: ((Result<[UInt8], HelperFailure>) -> Void)?

    private init(
        _ descriptor: Int32, longestAnswer: Int, isLine: Bool, onEnd: @escaping (Result<[UInt8], HelperFailure>) -> Void
    ) {
        (self.descriptor, self.longestAnswer, self.isLine, self.onEnd) = (descriptor, longestAnswer, isLine, onEnd)
    }

    isolated deinit { close() }

    /// Connects and sends the request without blocking: systemd listens, and the request fits the socket's buffer.
    /// - Parameters:
    ///   - limit: time limit of the whole exchange.
    ///   - longestAnswer: maximum length of the answer in bytes. Further bytes are not read.
    ///   - isLine: true if the answer is a single line; false if it ends when the helper ends.
    ///   - onEnd: called once, unless the exchange is released earlier.
    /// - Returns: the exchange, or an error without a call of `onEnd`.
    static func begin(
        _ question: String, to path: String, within limit: Duration, longestAnswer: Int, isLine: Bool,
        onEnd: @escaping (Result<[UInt8], HelperFailure>) -> Void
    ) -> Result<HelperExchange, HelperFailure> {
        let descriptor = socket(
            AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return .failure(.system("make a socket")) }
        if let failure = connect(descriptor, to: path) ?? send(question, by: descriptor) {
            Glibc.close(descriptor)
            return .failure(failure)
        }
        let exchange = HelperExchange(descriptor, longestAnswer: longestAnswer, isLine: isLine, onEnd: onEnd)
        exchange.watch = ReadWatch(fileDescriptor: descriptor) { [weak exchange] in exchange?.read() }
        exchange.timer = LoopTimer(after: limit) { [weak exchange] in exchange?.end(.failure(.silent)) }
        return .success(exchange)
    }

    private static func connect(_ descriptor: Int32, to path: String) -> HelperFailure? {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
            return .failed("the path of the helper's socket is too long")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard status != 0 else { return nil }
        return errno == ENOENT || errno == ECONNREFUSED ? .notThere(path: path) : .system("connect to \(path)")
    }

    private static func send(_ text: String, by descriptor: Int32) -> HelperFailure? {
        let bytes = Array(text.utf8)
        guard bytes.isEmpty || Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count,
            shutdown(descriptor, Int32(SHUT_WR)) == 0
        else { return .system("send to the helper") }
        return nil
    }

    private func read() {
        let part = withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
            let count = Glibc.recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
            return count < 0 && (errno == EAGAIN || errno == EINTR) ? nil : Array(buffer.prefix(max(count, 0)))
        }
        guard let part else { return }
        answer += part
        let isWhole = part.isEmpty || isLine && part.contains(UInt8(ascii: "\n"))
        if isWhole || answer.count >= longestAnswer { end(.success(answer)) }
    }

    private func end(_ result: Result<[UInt8], HelperFailure>) {
        guard let onEnd else { return }
        (self.onEnd, timer) = (nil, nil)
        close()
        onEnd(result)
    }

    private func close() {
        guard let watch else { return }
        let descriptor = descriptor
        watch.cancel { _ = Glibc.close(descriptor) }
        self.watch = nil
    }
}

extension HelperFailure {
    fileprivate static func system(_ attempt: String) -> HelperFailure {
        .failed(SystemError(attempt).description)
    }
}
