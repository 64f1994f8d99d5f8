import Measuring

/// The measurements.
struct Report: Codable {
    let latency: [Latency]
    let throughput: [Throughput]
    let handshakes: [Handshakes]
    let idle: [Idle]
    let endurance: Endurance
    let admittance: Admittance
}

/// From a query to its answer, in the client's eyes.
struct Latency: Codable {
    let kind: Kind
    let timing: Timing

    enum Kind: String, CaseIterable, Codable {
        case unix = "Unix socket"
        case tls = "TLS"
        case mosquitto = "mosquitto, there and back"
    }
}

struct Throughput: Codable {
    let path: ServerProcess.Path
    let connections: Int
    let perSecond: Double
}

/// How a client of the network shows that it has a key.
enum ProofKind: String, CaseIterable, Codable {
    case certificate = "certificate and proof"
    case presharedKey = "pre-shared key"
}

/// From the first SYN to the first answer.
struct Handshakes: Codable {
    let door: ProofKind
    let timing: Timing
}

/// How the owner fares among strangers.
struct Admittance: Codable {
    let strangersPerSecond: Double
    let within2s: Int
    let tries: Int
    let timing: Timing
}

/// Connections that are open and say nothing.
struct Idle: Codable {
    let kind: String
    let connections: Int
    /// Memory of the server for each of them.
    let bytesEach: Int
}

struct Endurance: Codable {
    let queries: Int
    /// Bytes of the server's memory after each tenth of them.
    let memory: [Int]

    /// By how much it grew after the first tenth, in which caches fill.
    var growth: Int { (memory.last ?? 0) - (memory.first ?? 0) }
}

extension Report {
    var goals: [Goal] {
        let p99 = latency.filter { $0.kind != .mosquitto }.map(\.timing.p99).max() ?? .infinity
        func median(_ door: ProofKind) -> Double { handshakes.first { $0.door == door }?.timing.median ?? .nan }
        let ratio = median(.certificate) / median(.presharedKey)
        func held(_ kind: String) -> Double { Double(idle.first { $0.kind == kind }?.bytesEach ?? 0) }
        let heldRatio = held(ServerProcess.Path.tls.rawValue) / held(ProofKind.presharedKey.rawValue)
        let held = idle.map(\.bytesEach).max() ?? .max
        let growth = Double(endurance.growth) / 1024
        return [
            Goal(text: "p99 of a query under 2 ms", measured: p99 / 1000, unit: "ms", isMet: p99 < 2000),
            Goal(
                text: "under 32 KiB per idle connection", measured: Double(held) / 1024, unit: "KiB",
                isMet: held < 32 << 10),
            Goal(
                text: "memory flat over \(endurance.queries) queries (grows by at most 256 KiB)", measured: growth,
                unit: "KiB", isMet: growth <= 256),
            Goal(
                text: "handshake and first answer at most 1.3 times those with a pre-shared key", measured: ratio,
                unit: "times", isMet: ratio <= 1.3),
            Goal(
                text: "memory of an idle session at most that with a pre-shared key", measured: heldRatio,
                unit: "times", isMet: heldRatio <= 1),
            Goal(
                text:
                    "the owner in within 2 s each time, among \(Int(admittance.strangersPerSecond)) strangers a second",
                measured: Double(admittance.within2s), unit: "of \(admittance.tries)",
                isMet: admittance.within2s == admittance.tries),
        ]
    }
}

extension Report {
    /// For people.
    var text: String { tables.map(\.text).joined(separator: "\n\n") }

    /// For the documentation.
    var markdown: String { tables.map(\.markdown).joined(separator: "\n\n") }

    private var tables: [Table] { [latencyTable, throughputTable, connectionTable, Table(goals: goals)] }

    private var latencyTable: Table {
        let yardstick = latency.first { $0.kind == .mosquitto }?.timing
        return Table(
            columns: ["A query and its answer", "p50 µs", "p95 µs", "p99 µs", "p50 x mosquitto"],
            rows: latency.map { latency in
                let timing = latency.timing
                return [
                    latency.kind.rawValue, timing.median.rounded(0), timing.p95.rounded(0), timing.p99.rounded(0),
                    (timing.median / (yardstick?.median ?? .nan)).rounded(2),
                ]
            })
    }

    private var throughputTable: Table {
        Table(
            columns: ["Queries a second", "connections", "queries/s"],
            rows: throughput.map { [$0.path.rawValue, "\($0.connections)", $0.perSecond.rounded(0)] })
    }

    private var connectionTable: Table {
        Table(
            columns: ["Connections", "figure", "unit"],
            rows: handshakes.flatMap { handshake in
                [
                    [
                        "handshake and first answer, \(handshake.door.rawValue), p50",
                        (handshake.timing.median / 1000).rounded(2), "ms",
                    ],
                    ["the same, p99", (handshake.timing.p99 / 1000).rounded(2), "ms"],
                ]
            }
                + idle.map { ["memory each, \($0.connections) idle, \($0.kind)", "\($0.bytesEach)", "bytes"] } + [
                    ["the owner among strangers, p50", (admittance.timing.median / 1000).rounded(0), "ms"],
                    ["the same, longest", (admittance.timing.p99 / 1000).rounded(0), "ms"],
                    [
                        "memory after \(endurance.queries / 10) queries",
                        (Double(endurance.memory.first ?? 0) / 1024).rounded(0), "KiB",
                    ],
                    [
                        "memory after \(endurance.queries) queries",
                        (Double(endurance.memory.last ?? 0) / 1024).rounded(0), "KiB",
                    ],
                ])
    }
}
