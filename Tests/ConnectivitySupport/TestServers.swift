import Foundation
import Glibc
import Linux
import Synchronization
import TestTime

/// A program that a test starts, and that ends with the test.
package final class Program: Sendable {
    package struct DidNotStart: Error {
        let output: String
    }

    package let folder: URL
    private let arguments: [String]
    private let pid = Mutex<pid_t>(0)

    /// - Parameters:
    ///   - arguments: the program and what it is given; `FOLDER` in it is a folder of its own.
    ///   - files: what lies in the folder.
    package init(_ arguments: [String], files: [String: String] = [:]) throws {
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

    package func start() throws {
        let log = ChildProcess.Stream.file(
            folder.appendingPathComponent("log").path, flags: O_WRONLY | O_CREAT | O_APPEND)
        let started = try ChildProcess.start(
            arguments[0], Array(arguments.dropFirst()), environment: ChildProcess.ownEnvironment, output: log)
        pid.withLock { $0 = started }
    }

    package func freeze() { signal(SIGSTOP) }
    package func thaw() { signal(SIGCONT) }

    /// Ends it with no time for goodbyes: the kernel closes its connections.
    package func kill() {
        pid.withLock { pid in
            guard pid > 0 else { return }
            Glibc.kill(-pid, SIGKILL)
            ChildProcess.wait(for: pid)
            pid = 0
        }
    }

    private func signal(_ number: Int32) { pid.withLock { _ = $0 > 0 ? Glibc.kill(-$0, number) : 0 } }

    package var log: String { (try? String(contentsOf: folder.appendingPathComponent("log"), encoding: .utf8)) ?? "" }

    /// Returns once the log has so many of these words.
    package func hasLogged(_ words: String, times count: Int) async throws {
        try await waitForFiles(in: folder.path, "\(words) in the log, \(count) times", within: .seconds(60)) {
            self.log.components(separatedBy: words).count > count
        }
    }

    /// Runs a program to its end.
    @discardableResult
    package static func run(_ arguments: [String]) throws -> String {
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
package enum Server {
    package static let areInstalled = [
        "/usr/sbin/mosquitto", "/usr/sbin/nginx", "/usr/sbin/nft", "/usr/bin/openssl", "/usr/bin/nsenter",
    ].allSatisfy { (program: String) in access(program, X_OK) == 0 }

    /// - Parameter certificate: the path of key and certificate without the ending, where it speaks TLS.
    package static func mosquitto(
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
    package static func nginx(
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

/// Vouches for servers, as long as the test lasts.
package struct Authority {
    private let files: Program
    package var path: String { files.folder.appendingPathComponent("authority.pem").path }

    package init() throws {
        files = try Program(["/bin/true"])
        try openssl(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=authority"
                + " -keyout authority.key -out authority.pem")
    }

    /// - Parameter names: such as `DNS:localhost,IP:127.0.0.1`.
    /// - Returns: the path of key and certificate without the ending.
    package func certify(_ names: String) throws -> String {
        try "subjectAltName=\(names)\n".write(
            to: files.folder.appendingPathComponent("names"), atomically: false, encoding: .utf8)
        try openssl(
            "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=server -keyout server.key -out server.csr"
        )
        try openssl(
            "x509 -req -in server.csr -CA authority.pem -CAkey authority.key -CAcreateserial -days 2 -extfile names"
                + " -out server.pem")
        return files.folder.appendingPathComponent("server").path
    }

    private func openssl(_ command: String) throws {
        try Program.run(["/bin/sh", "-c", "cd '\(files.folder.path)' && openssl \(command)"])
    }
}
