import ConnectivitySupport
import Foundation
import Glibc
import Linux
import NIOCore
import NIOPosix
import Synchronization

/// A program that a test starts, and that ends with the test.
final class Program: Sendable {
    struct DidNotStart: Error {
        let output: String
    }

    let folder: URL
    private let arguments: [String]
    private let pid = Mutex<pid_t>(0)

    /// - Parameters:
    ///   - arguments: the program and what it is given; `FOLDER` in it is a folder of its own.
    ///   - files: what lies in the folder.
    init(_ arguments: [String], files: [String: String] = [:]) throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("altnet-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let path = folder.path
        for (name, text) in files {
            try text.replacingOccurrences(of: "FOLDER", with: path)
                .write(to: folder.appendingPathComponent(name), atomically: false, encoding: .utf8)
        }
        self.arguments = arguments.map { $0.replacingOccurrences(of: "FOLDER", with: path) }
    }

    deinit {
        kill()
        try? FileManager.default.removeItem(at: folder)
    }

    func start() throws {
        let log = ChildProcess.Stream.file(
            folder.appendingPathComponent("log").path, flags: O_WRONLY | O_CREAT | O_APPEND)
        let started = try ChildProcess.start(
            arguments[0], Array(arguments.dropFirst()), environment: ChildProcess.ownEnvironment, output: log)
        pid.withLock { $0 = started }
    }

    func freeze() { signal(SIGSTOP) }
    func thaw() { signal(SIGCONT) }

    /// Ends it with no time for goodbyes: the kernel closes its connections.
    func kill() {
        pid.withLock { pid in
            guard pid > 0 else { return }
            Glibc.kill(-pid, SIGKILL)
            ChildProcess.wait(for: pid)
            pid = 0
        }
    }

    private func signal(_ number: Int32) { pid.withLock { _ = $0 > 0 ? Glibc.kill(-$0, number) : 0 } }

    var log: String { (try? String(contentsOf: folder.appendingPathComponent("log"), encoding: .utf8)) ?? "" }

    /// Runs a program to its end.
    @discardableResult
    static func run(_ arguments: [String]) throws -> String {
        let program = try Program(arguments)
        try program.start()
        let pid = program.pid.withLock { pid in
            defer { pid = 0 }
            return pid
        }
        guard ChildProcess.wait(for: pid) == 0 else { throw DidNotStart(output: "\(arguments): \(program.log)") }
        return program.log
    }
}

/// The servers that targets are made of.
enum Server {
    static let areInstalled = [
        "/usr/sbin/mosquitto", "/usr/sbin/nginx", "/usr/sbin/nft", "/usr/bin/openssl", "/usr/bin/nsenter",
    ].allSatisfy { (program: String) in access(program, X_OK) == 0 }

    /// - Parameter certificate: the path of key and certificate without the ending, where it speaks TLS.
    static func mosquitto(
        at address: String = "127.0.0.1", port: Int, anonymous: Bool = true, certificate: String? = nil,
        through wrapper: [String] = []
    ) throws -> Program {
        let tls = certificate.map { "certfile \($0).pem\nkeyfile \($0).key" } ?? ""
        return try Program(
            wrapper + ["/usr/sbin/mosquitto", "-c", "FOLDER/conf"],
            files: [
                "conf": """
                listener \(port) \(address)
                \(tls)
                allow_anonymous \(anonymous)
                user root
                log_dest stdout

                """
            ])
    }

    /// - Parameters:
    ///   - certificate: the path of key and certificate without the ending, where it speaks TLS.
    ///   - options: further lines of its server.
    ///   - answer: what it does with every request.
    static func nginx(
        at address: String = "127.0.0.1", port: Int, certificate: String? = nil, options: String = "",
        answer: String = "return 204", through wrapper: [String] = []
    ) throws -> Program {
        let tls =
            certificate.map { "ssl_certificate \($0).pem; ssl_certificate_key \($0).key;" } ?? ""
        return try Program(
            wrapper + ["/usr/sbin/nginx", "-p", "FOLDER", "-c", "FOLDER/conf", "-e", "FOLDER/log"],
            files: [
                "conf": """
                daemon off; user root; pid FOLDER/pid; worker_processes 1;
                events {}
                http {
                    access_log FOLDER/access; client_body_temp_path FOLDER/a; proxy_temp_path FOLDER/b;
                    fastcgi_temp_path FOLDER/c; uwsgi_temp_path FOLDER/d; scgi_temp_path FOLDER/e;
                    server {
                        listen \(address):\(port)\(certificate == nil ? "" : " ssl"); \(tls)
                        \(options)
                        location / { \(answer); }
                    }
                }

                """
            ])
    }
}

/// A name server that answers every question in the same way.
final class AnsweringNameServer: Sendable {
    enum Manner: Sendable {
        case silent
        /// RFC 1035, 4.1.1: 2 is its own failure (SERVFAIL), 3 is that there is no such name (NXDOMAIN).
        case code(UInt8)
        /// Every name is there (IPv4), and for 0 s.
        case address([UInt8])
    }

    private let manner = Mutex(Manner.silent)
    private let channel = Mutex<(any Channel)?>(nil)

    /// - Parameter group: on whose machine it is; on every address, port 53.
    init(on group: any EventLoopGroup) async throws {
        let loop = group.next()
        // A socket belongs to the namespace of the thread that makes it.
        let bound = try await loop.flatSubmit {
            DatagramBootstrap(group: loop)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(Answers { [weak self] in self?.answer($0) })
                    }
                }
                .bind(host: "0.0.0.0", port: 53)
        }.get()
        channel.withLock { $0 = bound }
    }

    deinit { channel.withLock { $0?.close(promise: nil) } }

    func answers(_ new: Manner) { manner.withLock { $0 = new } }

    private func answer(_ query: [UInt8]) -> [UInt8]? {
        // Header, name, type and class; what comes behind the question is left out.
        guard query.count > 16, let end = query.dropFirst(12).firstIndex(of: 0), query.count >= end + 5 else {
            return nil
        }
        let question = query[12..<end + 5]
        let isIPv4 = question.suffix(4).elementsEqual([0, 1, 0, 1])
        let manner = manner.withLock { $0 }
        var (code, record) = (UInt8(0), [UInt8]())
        switch manner {
        case .silent: return nil
        case .code(let number): code = number
        case .address(let bytes): if isIPv4 { record = [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4] + bytes }
        }
        let counts: [UInt8] = [0, 1, 0, record.isEmpty ? 0 : 1, 0, 0, 0, 0]
        return Array(query[..<2]) + [0x81, 0x80 | code] + counts + Array(question) + record
    }
}

private final class Answers: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>
    typealias OutboundOut = AddressedEnvelope<ByteBuffer>

    private let answer: ([UInt8]) -> [UInt8]?

    init(_ answer: @escaping ([UInt8]) -> [UInt8]?) { self.answer = answer }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let query = unwrapInboundIn(data)
        guard let answer = answer(Array(query.data.readableBytesView)) else { return }
        let envelope = AddressedEnvelope(remoteAddress: query.remoteAddress, data: ByteBuffer(bytes: answer))
        context.writeAndFlush(wrapOutboundOut(envelope), promise: nil)
    }
}
