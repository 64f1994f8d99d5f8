import AgentModel
import AppClient
import AppProtocol
import AppServer
import ArgumentParser
import Foundation
import Linux
import PipedPrograms

/// This program again, as the server.
final class ServerProcess {
    let folder: String
    let port: Int
    private let program: PipedProgram

    /// How much the server admits.
    enum Limits: String, CaseIterable, ExpressibleByArgument {
        /// More than a benchmark needs: those of a device would end a load like this at once, which is what they are for.
        case plenty
        case device
    }

    init(_ limits: Limits = .plenty) throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("altnet-bench-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
        program = try PipedProgram(
            own, ["serve", folder + "/socket", "--limits", limits.rawValue],
            environment: ChildProcess.ownEnvironment + Self.unitEnvironment, errors: .descriptor(2))
        let line = String(decoding: program.output.availableData, as: UTF8.self)
        guard let port = Int(line.trimmingCharacters(in: .whitespacesAndNewlines)), port > 0 else {
            throw BenchmarkError("the server did not say where it listens")
        }
        self.port = port
    }

    /// As in board/systemd/altnet.service.
    private static let unitEnvironment = [
        "MALLOC_ARENA_MAX=1", "GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.pthread.stack_cache_size=0",
        "MALLOC_MMAP_THRESHOLD_=16384", "MALLOC_TRIM_THRESHOLD_=65536",
    ]

    func endpoint(_ path: Path) throws -> Endpoint {
        switch path {
        case .unix: .unixSocket(path: folder + "/socket")
        case .tls: .network(host: "127.0.0.1", port: port, device: try Bench.device())
        }
    }

    /// Bytes of memory that are the server's own: neither shared nor to be had again from a file.
    func memory() throws -> Int { try ProcessMemory.anonymous(of: program.pid) }

    func stop() {
        try? program.input.close()
        program.wait()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// How a query travels.
    enum Path: String, CaseIterable, Codable {
        case unix = "Unix socket"
        case tls = "TLS"
    }
}

/// The memory of a process, by its /proc/PID/smaps_rollup (proc(5)).
enum ProcessMemory {
    static func anonymous(of pid: Int32) throws -> Int {
        let text = try String(contentsOfFile: "/proc/\(pid)/smaps_rollup", encoding: .utf8)
        guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("Anonymous:") }),
            let kibibytes = line.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
        else { throw BenchmarkError("the kernel does not say how much memory process \(pid) uses") }
        return kibibytes * 1024
    }
}

/// The server in a process of its own, until its standard input ends.
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "serve", shouldDisplay: false)

    @Argument var socket: String

    @Option var limits = ServerProcess.Limits.plenty

    func run() async throws {
        let server = AppServer(
            unix: UnixListenerSettings(path: socket),
            lan: LANListenerSettings(
                port: 0,
                credentials: try AppCredentials(
                    deviceId: Bench.device().deviceId, certificate: .random(),
                    keys: OwnerKey(Bench.device().localKey), acceptsPreSharedKey: true)),
            service: try PromptDevice(), hub: EventHub(), limits: limits == .device ? AppServer.Limits() : Self.plenty)
        try await server.start()
        FileHandle.standardOutput.write(Data("\(server.lanPort ?? 0)\n".utf8))
        _ = FileHandle.standardInput.readDataToEndOfFile()
        await server.stop()
    }
}

extension Serve {
    private static var plenty: AppServer.Limits {
        let plenty = 10_000
        var lan = AppServer.LANLimits()
        lan.connections = plenty
        lan.connectionsPerAddress = plenty
        lan.handshakes = plenty
        lan.handshakesPerAddress = plenty
        lan.requests = .init(perSecond: plenty * 100, burst: plenty * 100)
        lan.requestsPerAddress = lan.requests
        return AppServer.Limits(connections: plenty, lan: lan)
    }
}

/// Values that both processes know.
enum Bench {
    /// No secret: it lives as long as the benchmark.
    static func device() throws -> DeviceKey {
        try DeviceKey(deviceId: "bench", localKey: Secret(text: "0123456789abcdef0123456789abcdef"))
    }
}

/// Answers at once, as a device that is online does.
struct PromptDevice: DeviceService {
    private let network: NetworkStatus

    init() throws {
        network = NetworkStatus(
            state: .online, uplink: .wifi, flags: [.canSwitch, .canUpdateBackups], ssid: try SSID("HomeNet"),
            bssid: BSSID("02:00:00:00:01:00"), signal: -52, frequency: Frequency(megahertz: 2412),
            addresses: ["192.168.10.23", "fe80::ff:fe00:0"], since: .now)
    }

    func respond(to request: Request.Body, from peer: Peer) async throws(ProtocolError) -> Response.Body {
        guard case .getNetwork = request else {
            throw ProtocolError(.unsupported, "this device answers network.get and nothing else")
        }
        return .network(network)
    }
}

/// A broker, and one client of it that sends messages to itself: MQTT 3.1.1, quality of service 0.
final class Mosquitto {
    private let program: PipedProgram
    private let connection: Int32
    private let folder: String

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("altnet-bench-mqtt-\(getpid())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let port = UInt16.random(in: 30_000...60_000)
        try "listener \(port) 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\nlog_dest none\n"
            .write(toFile: folder + "/configuration", atomically: true, encoding: .utf8)
        do {
            // Debian's path of it, which is not in every PATH.
            program = try PipedProgram("/usr/sbin/mosquitto", ["-c", folder + "/configuration"])
        } catch {
            throw BenchmarkError("there is no mosquitto: make bench-protocol installs it")
        }
        connection = try Self.connect(to: port)
        try send([0x10, 18, 0, 4] + Array("MQTT".utf8) + [4, 2, 0, 0, 0, 6] + Array("altnet".utf8))
        try expect(4)
        try send([0x82, 8, 0, 1, 0, 3] + Array("a/b".utf8) + [0])
        try expect(5)
    }

    /// A message to the broker and back, as long as the answer to `network.get`.
    func roundTrip() throws {
        let payload = [UInt8](repeating: 0x61, count: Self.payload)
        let rest = 5 + payload.count
        let message = [0x30, UInt8(rest % 128) | 0x80, UInt8(rest / 128), 0, 3] + Array("a/b".utf8) + payload
        try send(message)
        try expect(message.count)
    }

    /// Bytes: about what the answer to `network.get` has.
    private static let payload = 300

    func stop() {
        close(connection)
        program.end()
        program.wait()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// The broker needs a moment to listen.
    private static func connect(to port: UInt16) throws -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        for _ in 0..<500 {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            let result = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            if result == 0 {
                var yes: Int32 = 1
                setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
                return descriptor
            }
            close(descriptor)
            usleep(10_000)
        }
        throw BenchmarkError("mosquitto does not listen on port \(port)")
    }

    private func send(_ bytes: [UInt8]) throws {
        guard write(connection, bytes, bytes.count) == bytes.count else {
            throw BenchmarkError("mosquitto took no more")
        }
    }

    private func expect(_ count: Int) throws {
        var buffer = [UInt8](repeating: 0, count: count)
        var received = 0
        while received < count {
            let more = read(connection, &buffer, count - received)
            guard more > 0 else { throw BenchmarkError("mosquitto has closed the connection") }
            received += more
        }
    }
}
