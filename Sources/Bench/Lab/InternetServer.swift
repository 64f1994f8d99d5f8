@preconcurrency import Dispatch  // Dispatch is thread-safe, but its types are not marked Sendable.
import FoundationEssentials
import Glibc

/// A server for the device in the lab's internet: mosquitto, or nginx with TLS.
public actor InternetServer {
    /// Address of the server. Each access point with internet routes to it.
    public nonisolated let address: IPv4Address
    public nonisolated let port: UInt16
    private let name: String
    private let arguments: [String]
    private let namespace: NetworkNamespace
    private let directory: String
    private var program: Program?

    /// - Parameter name: program that listens on `port` when started with these arguments.
    init(
        _ name: String, _ arguments: [String], at address: IPv4Address, port: UInt16, in namespace: NetworkNamespace,
        directory: String
    ) {
        self.name = name
        self.arguments = arguments
        self.address = address
        self.port = port
        self.namespace = namespace
        self.directory = directory
    }

    /// Starts the server and returns when it accepts connections.
    public func start() async throws {
        guard program?.isRunning != true else { return }
        program = try namespace.enter { () throws(LabError) in
            try Program(name, arguments, log: "\(directory)/\(name)\(port).log")
        }
        let (namespace, address, listeningPort) = (namespace, address, port)
        try await eventually(within: .seconds(20), "\(name) to listen") {
            try namespace.isListening(address, port: listeningPort)
        }
    }

    /// Kills the server (SIGKILL). The kernel resets its connections and refuses new ones.
    public func kill() {
        program?.kill()
        program = nil
    }

    /// Stops the server (SIGSTOP). The kernel still acknowledges data, but the server sends no answer.
    public func freeze() { program?.freeze() }

    /// Resumes the server (SIGCONT).
    public func thaw() { program?.thaw() }

    /// Sets how the server's firewall treats packets; nil to let all pass.
    public func firewall(_ blockage: Blockage?) throws {
        var rules = FirewallRules(inputs: blockage.map { [.port(port, $0)] } ?? [])
        rules.table = "inet port\(port)"
        try rules.apply(in: namespace, file: "\(directory)/port\(port).nft")
    }
}

enum WebServer {
    /// Returns an nginx configuration without daemon mode. All of nginx' files are in `directory`.
    static func configuration(of sites: String, directory: String, name: String) -> String {
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map {
            "    \($0)_temp_path \(directory)/\(name).\($0);\n"
        }
        return """
            daemon off;
            user root;
            worker_processes 1;
            pid \(directory)/\(name).nginx.pid;
            error_log stderr;
            events {}
            http {
                access_log /dev/stdout;
            \(temporary.joined())
            \(sites)
            }

            """
    }
}

public enum NameService: Hashable, Sendable {
    case right
    case silent
    /// The server answers SERVFAIL.
    case failing
    /// The server answers NXDOMAIN.
    case denying
    /// The server answers with this address for all names.
    case everythingAt(IPv4Address)
}

/// A name server that gives the same answer to all queries (RFC 1035).
final class SpoofingNameServer: Sendable {
    private static let queue = DispatchQueue(label: "lab.names")
    private let source: any DispatchSourceRead

    /// Listens on UDP port 53 in the namespace of the calling thread. Returns nil for `right` and `silent`.
    init?(_ service: NameService) throws(LabError) {
        let lie: ([UInt8]) -> [UInt8]?
        switch service {
        case .right, .silent: return nil
        case .failing: lie = { Self.answer(to: $0, code: 2) }
        case .denying: lie = { Self.answer(to: $0, code: 3) }
        case .everythingAt(let address): lie = { Self.answer(to: $0, code: 0, address: address) }
        }
        let socket = try FileDescriptor.socket(AF_INET, SOCK_DGRAM)
        guard IPv4Address(value: 0).withSocketAddress(port: 53, { bind(socket.number, $0, $1) }) == 0 else {
            throw .lastCall("listen on port 53")
        }
        source = DispatchSource.makeReadSource(fileDescriptor: socket.number, queue: Self.queue)
        source.setEventHandler { Self.answer(on: socket.number, lie) }
        // Keep the descriptor open until the source is cancelled.
        source.setCancelHandler { withExtendedLifetime(socket) {} }
        source.resume()
    }

    func end() { source.cancel() }

    private static func answer(on socket: Int32, _ lie: ([UInt8]) -> [UInt8]?) {
        var question = [UInt8](repeating: 0, count: 512)
        var sender = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &sender) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                let count = recvfrom(socket, &question, question.count, 0, address, &length)
                guard count > 0, let answer = lie(Array(question.prefix(count))) else { return }
                _ = sendto(socket, answer, answer.count, 0, address, length)
            }
        }
    }

    /// Returns an answer with this code to the first question. It includes the address if the question is for IPv4; nil
    /// for an invalid question.
    private static func answer(to question: [UInt8], code: UInt8, address: IPv4Address? = nil) -> [UInt8]? {
        guard question.count >= 17, let root = question[12...].firstIndex(of: 0), root + 4 < question.count else {
            return nil
        }
        let isForIPv4 = question[root + 1] == 0 && question[root + 2] == 1
        let record: [UInt8]? = address.flatMap { address in
            guard isForIPv4 else { return nil }
            let bytes = (0..<4).map { UInt8(truncatingIfNeeded: address.value >> (24 - 8 * $0)) }
            // Pointer to the question's name, type A, class IN, TTL of one minute.
            return [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4] + bytes
        }
        let counts: [UInt8] = [0, 1, 0, record == nil ? 0 : 1, 0, 0, 0, 0]
        let head = question[0..<2] + [0x80 | question[2], 0x80 | code] + counts
        return Array(head + question[12...(root + 4)]) + (record ?? [])
    }
}

/// Adds a certificate authority to this machine's list while a lab runs.
enum TrustStore {
    private static let path = "/etc/ssl/certs/ca-certificates.crt"

    /// Makes all programs trust `certificate` (a PEM file) until `restore`.
    /// - Parameter directory: folder for the list that is mounted over the system's.
    static func add(_ certificate: String, directory: String) throws {
        let trusted = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        let list = "\(directory)/authorities.crt"
        let lists = trusted + (try String(contentsOfFile: certificate, encoding: .utf8))
        // The list is replaced below, and nothing can be mounted over a removed file.
        restore()
        try lists.write(toFile: list, atomically: true, encoding: .utf8)
        guard chmod(list, 0o644) == 0, mount(list, path, nil, UInt(MS_BIND), nil) == 0 else {
            throw LabError.lastCall("put \(list) over \(path)")
        }
    }

    /// Creates a self-signed certificate for `host` and its key, both as PEM files.
    static func makeCertificate(
        _ certificate: String, key: String, for host: String, directory: String
    ) throws(LabError) {
        try Program.run(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30",
                "-subj", "/CN=\(host)", "-addext", "subjectAltName=DNS:\(host)", "-keyout", key, "-out", certificate,
            ], log: "\(directory)/commands.log")
    }

    /// Restores the system's list. Removes all mounts over it.
    static func restore() {
        while umount2(path, Int32(MNT_DETACH)) == 0 {}
    }
}
