import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// A Unix socket driven by hand. It blocks threads of its own and not those of the tasks that it tests.
final class RawSocket: Sendable {
    struct Failure: Error { let errno: Int32 }

    let descriptor: Int32

    private init(descriptor: Int32) {
        self.descriptor = descriptor
        // A program that a test beside this one starts would hold the connection open.
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        // A test that waits for what does not come fails instead of hanging.
        var limit = timeval(tv_sec: 180, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(descriptor) }

    static func connecting(to path: String) throws -> RawSocket {
        try make(path) { connect($0, $1, $2) }
    }

    /// A connection to this machine over TCP.
    /// - Parameters:
    ///   - waiting: false to be content with an attempt.
    ///   - host: the last byte of the own address, 127.0.0.x: another one is another machine to the server.
    static func connecting(toPort port: Int, waiting: Bool = true, from host: UInt8 = 1) throws -> RawSocket {
        let socket = RawSocket(descriptor: socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
        var own = sockaddr_in()
        own.sin_family = sa_family_t(AF_INET)
        own.sin_addr.s_addr = (in_addr_t(127) << 24 | in_addr_t(host)).bigEndian
        let isBound = withUnsafePointer(to: &own) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket.descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard isBound == 0 else { throw Failure(errno: errno) }
        if !waiting { _ = fcntl(socket.descriptor, F_SETFL, O_NONBLOCK) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(INADDR_LOOPBACK).bigEndian
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket.descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 || (!waiting && errno == EINPROGRESS) else { throw Failure(errno: errno) }
        return socket
    }

    /// - Returns: nil if the listener's queue is full.
    static func connectingWithoutWaiting(to path: String) throws -> RawSocket? {
        do {
            return try make(path) { descriptor, address, length in
                _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
                // Reading waits again: the server may need a moment to close.
                defer { _ = fcntl(descriptor, F_SETFL, 0) }
                return connect(descriptor, address, length)
            }
        } catch let failure as Failure where failure.errno == EAGAIN {
            return nil
        }
    }

    /// Listens without accepting yet.
    static func listening(at path: String) throws -> RawSocket {
        let socket = try make(path) { bind($0, $1, $2) }
        guard listen(socket.descriptor, 4) == 0 else { throw Failure(errno: errno) }
        return socket
    }

    /// Leaves a socket file at `path` without a listener.
    static func leaveStaleFile(at path: String) throws { _ = try make(path) { bind($0, $1, $2) } }

    func accepted() async throws -> RawSocket {
        try await offTasks { descriptor in
            let accepted = accept(descriptor, nil, nil)
            guard accepted >= 0 else { throw Failure(errno: errno) }
            return RawSocket(descriptor: accepted)
        }
    }

    func send(_ text: String) async throws { try await send(Array(text.utf8)) }

    /// - Throws: `Failure` with EPIPE or ECONNRESET when the other end has closed.
    func send(_ bytes: [UInt8]) async throws {
        try await offTasks { descriptor in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes {
                    Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else { throw Failure(errno: errno) }
                rest = rest.dropFirst(count)
            }
        }
    }

    func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// The next line, or nil at the end of the stream.
    func line() async throws -> String? {
        try await offTasks { descriptor in
            var line: [UInt8] = []
            var byte: UInt8 = 0
            while true {
                let count = read(descriptor, &byte, 1)
                if count < 0, errno == ECONNRESET, line.isEmpty { return nil }
                guard count >= 0 else { throw Failure(errno: errno) }
                if count == 0 { return line.isEmpty ? nil : String(decoding: line, as: UTF8.self) }
                if byte == 10 { return String(decoding: line, as: UTF8.self) }
                line.append(byte)
            }
        }
    }

    /// How many bytes a Unix socket takes, in writes of that size, while the other end reads none.
    static func taken(ofWritesOf size: Int) throws -> Int {
        var ends: [Int32] = [0, 0]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else { throw Failure(errno: errno) }
        defer { for end in ends { close(end) } }
        let bytes = [UInt8](repeating: 0, count: size)
        var taken = 0
        while true {
            let count = Glibc.send(ends[0], bytes, size, Int32(MSG_DONTWAIT))
            if count < 0, errno == EAGAIN { return taken }
            guard count > 0 else { throw Failure(errno: errno) }
            taken += count
        }
    }

    /// Returns once at least that many bytes have arrived, of which nothing is read.
    func hasToRead(_ count: Int) async throws {
        try await offTasks { descriptor in
            let end = ContinuousClock.now + .seconds(180)
            var arrived: Int32 = 0
            repeat {
                guard ioctl(descriptor, UInt(FIONREAD), &arrived) == 0 else { throw Failure(errno: errno) }
                guard ContinuousClock.now < end else { throw Failure(errno: ETIMEDOUT) }
                // The kernel tells of the first byte that arrives, and of no number of them.
                sched_yield()
            } while arrived < count
        }
    }

    /// Everything up to the end of the stream.
    func lines() async throws -> [String] {
        var lines: [String] = []
        while let line = try await line() { lines.append(line) }
        return lines
    }

    private func offTasks<Value: Sendable>(_ body: @escaping @Sendable (Int32) throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try body(self.descriptor) }) }
        }
    }

    private static func make(
        _ path: String, _ attach: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws -> RawSocket {
        let socket = RawSocket(descriptor: socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                attach(socket.descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw Failure(errno: errno) }
        return socket
    }
}

/// A folder for one test's sockets, short enough for a socket's path.
final class SocketFolder: Sendable {
    let path: String

    init() throws {
        var template = Array("/tmp/altnet-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw RawSocket.Failure(errno: errno) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    var socket: String { path + "/s" }
}

/// A ClientHello as `openssl s_client -psk` sends it, with the cipher that the server wants and x25519.
enum TLSBytes {
    static let hello: [UInt8] = {
        let random = [UInt8](repeating: 0x5a, count: 32)
        let ciphers: [UInt8] = [0, 2, 0xcc, 0xac]
        let groups: [UInt8] = [0, 10, 0, 4, 0, 2, 0, 29]
        let points: [UInt8] = [0, 11, 0, 2, 1, 0]
        let secret: [UInt8] = [0, 23, 0, 0]
        let extensions = groups + points + secret
        let body = [3, 3] + random + [0] + ciphers + [1, 0] + length(extensions.count) + extensions
        let handshake = [1, 0] + length(body.count) + body
        return [0x16, 3, 1] + length(handshake.count) + handshake
    }()

    private static func length(_ count: Int) -> [UInt8] { [UInt8(count >> 8), UInt8(count & 0xff)] }
}

/// Stands between a client and the server, and puts bytes of its own in between.
final class BreakingRelay: Sendable {
    let port: Int
    private let listener: any Channel
    private let upstream: Upstream

    private final class Upstream: Sendable {
        let channel = Mutex<(any Channel)?>(nil)
    }

    init(to target: Int) async throws {
        let upstream = Upstream()
        self.upstream = upstream
        listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { downstream in
                ClientBootstrap(group: downstream.eventLoop)
                    .channelInitializer { $0.pipeline.addHandler(Pipe(to: downstream)) }
                    .connect(host: "127.0.0.1", port: target)
                    .flatMap { channel in
                        upstream.channel.withLock { $0 = channel }
                        return downstream.pipeline.addHandler(Pipe(to: channel))
                    }
                    .flatMap { downstream.setOption(.autoRead, value: true) }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        port = listener.localAddress?.port ?? 0
    }

    func inject(_ bytes: [UInt8]) async throws {
        try await upstream.channel.withLock { $0 }?.writeAndFlush(ByteBuffer(bytes: bytes))
    }

    func close() async { try? await listener.close() }

    private final class Pipe: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer

        private let other: any Channel

        init(to other: any Channel) { self.other = other }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            other.writeAndFlush(unwrapInboundIn(data), promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) { other.close(promise: nil) }
    }
}

enum LocalAddress {
    /// An address of this machine that is not the loopback's; nil if it has none.
    static let besidesLoopback: String? = try? System.enumerateDevices().lazy
        .compactMap(\.address).compactMap { address -> String? in
            guard case .v4 = address, let text = address.ipAddress, !text.hasPrefix("127.") else { return nil }
            return text
        }.first
}
