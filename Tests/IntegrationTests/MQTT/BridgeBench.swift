import ConnectivitySupport
import DeveloperDevice
import Foundation
import JSONValues
import PipedPrograms
import Simulation
import Synchronization
import Testing

/// A device in a simulated world, the bridge as the program that ships, a real mosquitto and its clients.
final class BridgeBench: Sendable {
    static let isInstalled =
        ["mosquitto", "mosquitto_sub", "mosquitto_rr", "mosquitto_pub"].allSatisfy { PipedProgram.path(of: $0) != nil }
        && FileManager.default.isExecutableFile(atPath: program)

    /// Beside the tests.
    static let program =
        URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        .appendingPathComponent("altnet-mqtt").path

    let folder: String
    let running: RunningDevice
    let port: Int
    private let bridges = Mutex<[PipedProgram]>([])
    let said = Lines()

    var deviceId: String { running.pairingCode.device.deviceId }
    var base: String { "altnet/\(deviceId)" }

    static func run(_ body: (BridgeBench) async throws -> Void) async throws {
        let folder = NSTemporaryDirectory() + "altnet-" + UUID().uuidString.prefix(8)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let settings = DeveloperDevice.Settings(try ScenarioLibrary.scenario(named: "house-with-repeater"))
        var places = RunningDevice.Places(sockets: folder)
        (places.state, places.port, places.isAnnounced) = (folder + "/state", 0, false)
        let running = try await RunningDevice(settings, at: places)
        await running.begin()
        let bench = BridgeBench(folder: folder, running: running, port: try freePort())
        let result: Result<Void, any Error>
        do { result = .success(try await body(bench)) } catch { result = .failure(error) }
        bench.end()
        await running.stop()
        try result.get()
    }

    func broker(_ options: String = "") throws -> Program {
        try Program(
            ["/usr/sbin/mosquitto", "-c", "FOLDER/conf"],
            files: [
                "conf": """
                listener \(port) 127.0.0.1
                allow_anonymous true
                user root
                log_dest file FOLDER/log
                \(options)

                """
            ])
    }

    /// Returns once it listens.
    func start(_ broker: Program) async throws {
        let before = broker.log.components(separatedBy: " running").count
        try broker.start()
        try await broker.hasLogged(" running", times: before)
    }

    private init(folder: String, running: RunningDevice, port: Int) {
        (self.folder, self.running, self.port) = (folder, running, port)
    }

    private func end() {
        for bridge in bridges.withLock({ $0 }) {
            bridge.end(SIGKILL)
            bridge.wait()
        }
    }

    /// - Parameter settings: without `ALTNET_MQTT_`.
    @discardableResult
    func startBridge(_ settings: [String: String] = [:], _ arguments: [String] = []) throws -> PipedProgram {
        var values = [
            "BROKER": "mqtt://127.0.0.1:\(port)", "SPREAD_S": "1", "RETRY_S": "1", "SIGNAL_S": "1", "SECRETS": folder,
        ]
        values.merge(settings) { $1 }
        let bridge = try PipedProgram(
            Self.program, arguments,
            environment: values.map { "ALTNET_MQTT_\($0)=\($1)" } + [
                "ALTNET_SOCKET=\(running.places.socket)", "ALTNET_LAN_PORT=\(running.port)",
                "STATE_DIRECTORY=\(folder)", "PATH=/usr/bin:/bin",
            ], errors: nil)
        bridges.withLock { $0.append(bridge) }
        said.follow(bridge.output)
        return bridge
    }

    func stop(_ bridge: PipedProgram, _ signal: Int32) {
        bridges.withLock { $0.removeAll { $0 === bridge } }
        bridge.end(signal)
        bridge.wait()
    }

    /// Hears all that is published, as `TOPIC PAYLOAD` lines.
    func listen(_ options: [String] = []) throws -> Lines {
        let program = try PipedProgram(
            "stdbuf",
            ["-oL", "mosquitto_sub", "-V", "5", "-p", "\(port)", "-t", "#", "-v", "-F", "%t %p"] + options)
        bridges.withLock { $0.append(program) }
        let lines = Lines()
        lines.follow(program.output)
        return lines
    }

    /// Hears what is published after the return. What is kept comes before that.
    func listenFromNow() async throws -> Lines {
        try await publish("test/mark", "heard", ["-r"])
        let lines = try listen()
        try await lines.next("mark") { $0 == "test/mark heard" }
        lines.skip()
        return lines
    }

    /// What the agent tells its own clients.
    func events() async throws -> Lines {
        let agent = try PipedProgram(
            "python3",
            [
                "-uc",
                """
                import socket, sys
                link = socket.socket(socket.AF_UNIX)
                link.connect(sys.argv[1])
                link.sendall(b'{"v":1,"id":"1","type":"events.subscribe"}\\n')
                for line in link.makefile("r"): print(line, end="")
                """, running.places.socket,
            ])
        bridges.withLock { $0.append(agent) }
        let lines = Lines()
        lines.follow(agent.output)
        try await lines.next("subscribed") { $0.contains("\"stream\"") }
        return lines
    }

    /// Asks the device, and waits for its answer.
    func ask(_ request: String, expiry: Int? = nil, topic: String? = nil) async throws -> JSONValue? {
        try await offLoop {
            var arguments = [
                "-V", "5", "-p", "\(self.port)", "-t", topic ?? self.base + "/request", "-e",
                "app/\(UUID().uuidString)", "-m", request, "-q", "1", "-W", "30",
            ]
            if let expiry { arguments += ["-D", "publish", "message-expiry-interval", "\(expiry)"] }
            let (status, output) = try PipedProgram.run("mosquitto_rr", arguments)
            guard status == 0 else { return nil }
            return JSONValue(line: Array(output))
        }
    }

    func publish(_ topic: String, _ payload: String, _ options: [String] = []) async throws {
        let status = try await offLoop {
            try PipedProgram.run(
                "mosquitto_pub",
                ["-V", "5", "-p", "\(self.port)", "-t", topic, "-q", "1", "-m", payload] + options
            ).0
        }
        #expect(status == 0, "\(topic)")
    }

    func changeWorld(_ words: String) async throws {
        let path = running.places.control
        _ = try await offLoop { try WorldClient.ask(WorldRequest(change: words), at: path, within: .seconds(60)) }
    }

    /// The hash of a stored network, as the broker keeps it.
    func hash(of name: String, _ lines: Lines) async throws -> String {
        let backups = try await lines.next(base + "/backups", message: { _ in true })
        let networks = [backups["home"], backups["chosen"]].compactMap(\.self) + (backups["networks"]?.array ?? [])
        return try #require(networks.first { $0["ssid"]?.text == name }?["hash"]?.text)
    }
}

/// What blocks is done on a thread of its own.
func offLoop<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
    }
}

/// Lines of a program, with the moment of each.
final class Lines: @unchecked Sendable {  // All of it is the condition's.
    struct Line: Sendable {
        let text: String
        let moment: ContinuousClock.Instant
    }

    private let condition = NSCondition()
    private var lines: [Line] = []
    private var taken = 0

    func follow(_ output: FileHandle) {
        let descriptor = dup(output.fileDescriptor)
        Thread.detachNewThread {
            guard let file = fdopen(descriptor, "r") else { return }
            var buffer: UnsafeMutablePointer<CChar>?
            var size = 0
            while getline(&buffer, &size, file) > 0 {
                guard let buffer else { break }
                self.add(String(cString: buffer).trimmingCharacters(in: .newlines))
            }
            free(buffer)
            fclose(file)
        }
    }

    func add(_ text: String) {
        condition.withLock {
            lines.append(Line(text: text, moment: .now))
            condition.broadcast()
        }
    }

    var texts: [String] { condition.withLock { lines.map(\.text) } }

    /// Forgets what has come.
    func skip() { condition.withLock { taken = lines.count } }

    struct Missing: Error {
        let words: String
        let there: [String]
    }

    /// The next line that holds, within a minute.
    @discardableResult
    func next(_ words: String, where holds: @escaping @Sendable (String) -> Bool) async throws -> Line {
        try await offLoop {
            let end = Date(timeIntervalSinceNow: 60)
            return try self.condition.withLock {
                while true {
                    if let index = self.lines[self.taken...].firstIndex(where: { holds($0.text) }) {
                        self.taken = index + 1
                        return self.lines[index]
                    }
                    guard self.condition.wait(until: end) else {
                        throw Missing(words: words, there: self.lines.suffix(20).map { String($0.text.prefix(300)) })
                    }
                }
            }
        }
    }

    /// All lines before the first that holds, within a minute.
    func before(_ holds: @escaping @Sendable (String) -> Bool) async throws -> [String] {
        try await offLoop {
            let end = Date(timeIntervalSinceNow: 60)
            return try self.condition.withLock {
                while true {
                    if let index = self.lines.firstIndex(where: { holds($0.text) }) {
                        return self.lines[..<index].map(\.text)
                    }
                    guard self.condition.wait(until: end) else { throw Missing(words: "a mark", there: []) }
                }
            }
        }
    }

    /// The next message of a topic that holds.
    @discardableResult
    func next(_ topic: String, message holds: @escaping @Sendable (JSONValue) -> Bool) async throws -> JSONValue {
        @Sendable func message(_ text: String) -> JSONValue? {
            guard text.hasPrefix(topic + " ") else { return nil }
            return JSONValue(line: Array(text.utf8.dropFirst(topic.utf8.count + 1)))
        }
        let line = try await next(topic) { text in message(text).map(holds) ?? false }
        return message(line.text) ?? .null
    }
}
