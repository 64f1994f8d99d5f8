import AppClient
import AppProtocol
import Foundation
import Measuring
import NIOPosix

/// One run of everything.
struct Benchmark {
    let queries: Int
    let seconds: Int
    let idle: Int
    let handshakes: Int
    let endurance: Int

    private let clock = ContinuousClock()

    init(queries: Int, seconds: Int, idle: Int, handshakes: Int, endurance: Int) {
        self.queries = queries
        self.seconds = seconds
        self.idle = idle
        self.handshakes = handshakes
        self.endurance = endurance
    }

    func run() async throws -> Report {
        let server = try ServerProcess()
        defer { server.stop() }
        let broker = try Mosquitto()
        defer { broker.stop() }
        let latency = try await latencies(server, broker)
        tell("throughput")
        var throughput: [Throughput] = []
        for path in ServerProcess.Path.allCases {
            for connections in [1, 100] {
                throughput.append(try await self.throughput(server, path, connections: connections))
            }
        }
        tell("\(handshakes) handshakes")
        let handshakes = try await timeHandshakes(server)
        tell("\(idle) idle connections")
        let held = try await holdIdle()
        tell("\(endurance) queries")
        let endured = try await endure(server)
        tell("the owner among \(Flood.sources) strangers")
        return Report(
            latency: latency, throughput: throughput, handshakes: handshakes, idle: held, endurance: endured,
            admittance: try await Flood().run(tries: 20))
    }

    /// In turns, so that whatever else the machine does meets all of them.
    private func latencies(_ server: ServerProcess, _ broker: Mosquitto) async throws -> [Latency] {
        tell("latency of \(queries) queries")
        let unix = try await DeviceClient(connectingTo: try server.endpoint(.unix))
        let tls = try await DeviceClient(connectingTo: try server.endpoint(.tls))
        var durations: [Latency.Kind: [Duration]] = [:]
        let turn = 100
        for round in 0..<(queries + turn - 1) / turn + 1 {
            for kind in Latency.Kind.allCases {
                for _ in 0..<turn {
                    let start = clock.now
                    switch kind {
                    case .unix: _ = try await unix.network()
                    case .tls: _ = try await tls.network()
                    case .mosquitto: try broker.roundTrip()
                    }
                    // The first turn warms up.
                    if round > 0 { durations[kind, default: []].append(clock.now - start) }
                }
            }
        }
        await unix.close()
        await tls.close()
        return Latency.Kind.allCases.map { Latency(kind: $0, timing: Timing(durations[$0] ?? [.zero])) }
    }

    private func throughput(
        _ server: ServerProcess, _ path: ServerProcess.Path, connections: Int
    ) async throws -> Throughput {
        let clients = try await clients(server, path, connections)
        let start = clock.now
        let end = start + .seconds(seconds)
        let count = try await withThrowingTaskGroup(of: Int.self) { group in
            for client in clients {
                group.addTask { [clock] in
                    var count = 0
                    while clock.now < end {
                        _ = try await client.network()
                        count += 1
                    }
                    return count
                }
            }
            return try await group.reduce(0, +)
        }
        let elapsed = clock.now - start
        for client in clients { await client.close() }
        return Throughput(path: path, connections: connections, perSecond: Double(count) / (elapsed / .seconds(1)))
    }

    /// From the first SYN to the first answer, over and over, through both doors in turns.
    private func timeHandshakes(_ server: ServerProcess) async throws -> [Handshakes] {
        var durations: [ProofKind: [Duration]] = [:]
        let endpoint = try server.endpoint(.tls)
        for round in 0...handshakes {
            for door in ProofKind.allCases {
                let start = clock.now
                switch door {
                case .certificate:
                    let client = try await DeviceClient(connectingTo: endpoint)
                    _ = try await client.network()
                    if round > 0 { durations[door, default: []].append(clock.now - start) }
                    await client.close()
                case .presharedKey:
                    let client = try await presharedKeyClient(server)
                    if round > 0 { durations[door, default: []].append(clock.now - start) }
                    await client.close()
                }
            }
        }
        return ProofKind.allCases.map { Handshakes(credentials: $0, timing: Timing(durations[$0] ?? [.zero])) }
    }

    /// One that has had its first answer.
    private func presharedKeyClient(_ server: ServerProcess) async throws -> RawClient {
        let client = try await RawClient(
            .presharedKey(try Bench.device()), port: server.port, on: MultiThreadedEventLoopGroup.singleton)
        try await client.answer()
        return client
    }

    /// Each kind on a server of its own, for memory that one of them leaves free the next one takes.
    private func holdIdle() async throws -> [Idle] {
        var result: [Idle] = []
        for path in ServerProcess.Path.allCases {
            let server = try ServerProcess()
            defer { server.stop() }
            let first = try await clients(server, path, 1)
            let before = try server.memory()
            let clients = try await clients(server, path, idle)
            let growth = try server.memory() - before
            // Held, and not just counted: the first and the last still answer.
            _ = try await clients.first?.network()
            _ = try await clients.last?.network()
            for client in first + clients { await client.close() }
            result.append(
                Idle(kind: path.rawValue, connections: clients.count, bytesEach: growth / max(1, clients.count)))
        }
        let server = try ServerProcess()
        defer { server.stop() }
        let first = try await presharedKeyClient(server)
        let before = try server.memory()
        var clients: [RawClient] = []
        for _ in 0..<idle { clients.append(try await presharedKeyClient(server)) }
        let growth = try server.memory() - before
        for client in [first] + clients { await client.close() }
        result.append(Idle(kind: ProofKind.presharedKey.rawValue, connections: idle, bytesEach: growth / max(1, idle)))
        return result
    }

    private func endure(_ server: ServerProcess) async throws -> Endurance {
        let clients = try await clients(server, .tls, 8)
        let share = endurance / 10 / clients.count
        var memory: [Int] = []
        for _ in 0..<10 {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for client in clients {
                    group.addTask { for _ in 0..<share { _ = try await client.network() } }
                }
                try await group.waitForAll()
            }
            memory.append(try server.memory())
        }
        for client in clients { await client.close() }
        return Endurance(queries: share * clients.count * 10, memory: memory)
    }

    private func clients(
        _ server: ServerProcess, _ path: ServerProcess.Path, _ count: Int
    ) async throws -> [DeviceClient] {
        var clients: [DeviceClient] = []
        for _ in 0..<count {
            let client = try await DeviceClient(connectingTo: try server.endpoint(path))
            // Connecting to a Unix socket does not wait until it is accepted, and its queue is short.
            _ = try await client.network()
            clients.append(client)
        }
        return clients
    }

    private func tell(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }
}
