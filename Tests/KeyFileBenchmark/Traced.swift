import ArgumentParser

/// Makes updates between marks. Run by the benchmark itself, under strace.
struct TracedUpdates: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "traced-updates", shouldDisplay: false)

    @Option var entrant: Entrant
    @Option var kind: UpdateKind
    @Option var updates: Int
    @Option var recordSize: Int
    @Argument var directory: String

    static func arguments(
        _ entrant: Entrant, _ kind: UpdateKind, updates: Int, recordSize: Int, directory: String
    ) -> [String] {
        [
            "traced-updates", "--entrant", entrant.rawValue, "--kind", kind.rawValue, "--updates", "\(updates)",
            "--record-size", "\(recordSize)", directory,
        ]
    }

    func run() throws {
        var workload = Workload(backupCount: Benchmark.updateBackups)
        let contestant = try entrant.open(in: directory, recordSize: recordSize)
        try contestant.setUp(workload.networks)
        try Mark().write()
        for _ in 0..<updates {
            try contestant.make(workload.next(kind))
            try Mark().write()
        }
    }
}

/// Opens a file that is there and makes an update of each kind, between marks. Run by the benchmark itself, under
/// strace.
struct TracedOpening: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "traced-opening", shouldDisplay: false)

    @Option var entrant: Entrant
    @Option var recordSize: Int
    @Argument var directory: String

    static func arguments(_ entrant: Entrant, recordSize: Int, directory: String) -> [String] {
        ["traced-opening", "--entrant", entrant.rawValue, "--record-size", "\(recordSize)", directory]
    }

    func run() throws {
        var workload = Workload(backupCount: Benchmark.openingBackups)
        let changes = UpdateKind.allCases.map { workload.next($0) }
        try Mark().write()
        let contestant = try entrant.open(in: directory, recordSize: recordSize)
        try Mark().write()
        for change in changes {
            try contestant.make(change)
            try Mark().write()
        }
    }
}

extension UpdateKind: ExpressibleByArgument {}
