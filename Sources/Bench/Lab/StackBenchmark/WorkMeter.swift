import FoundationEssentials

/// Measures the work of all threads of a program and its helpers, from its initialisation on.
///
/// The kernel drops the counters of ended threads. Call `look` more often than a thread pool ends its idle threads
/// (libdispatch after 5 s). Only work between the last call and the thread's end is missing.
struct WorkMeter {
    static let interval = Duration.seconds(2)

    let program: Program
    private var tally: WorkTally

    init(_ program: Program) {
        self.program = program
        tally = WorkTally(Self.threads(of: program))
    }

    /// Records the work since the last call. Call this method every `interval` and at the end.
    mutating func look() { tally.record(Self.threads(of: program)) }

    var work: ProcessWork { tally.work }

    private static func threads(of program: Program) -> [Int32: ProcessWork] {
        var threads: [Int32: ProcessWork] = [:]
        for process in program.processes {
            let folder = "/proc/\(process)/task"
            for thread in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
                // If either file is missing, the thread has just ended.
                guard let id = Int32(thread),
                    let status = try? String(contentsOfFile: "\(folder)/\(thread)/status", encoding: .utf8),
                    let schedule = try? String(contentsOfFile: "\(folder)/\(thread)/schedstat", encoding: .utf8)
                else { continue }
                threads[id] = ProcessWork(status: status, schedule: schedule)
            }
        }
        return threads
    }
}

struct WorkTally {
    private let atFirst: [Int32: ProcessWork]
    private var latest: [Int32: ProcessWork]

    init(_ threads: [Int32: ProcessWork]) { (atFirst, latest) = (threads, threads) }

    mutating func record(_ threads: [Int32: ProcessWork]) { latest.merge(threads) { $1 } }

    var work: ProcessWork {
        latest.map { $1 - (atFirst[$0] ?? ProcessWork()) }.reduce(ProcessWork(), +)
    }
}

/// Work of a thread since its start, or of several threads (proc(5)).
struct ProcessWork: Equatable {
    /// Number of context switches, voluntary or not.
    var switches = 0
    /// User and system time together.
    var processorTime = Duration.zero

    init(switches: Int = 0, processorTime: Duration = .zero) {
        self.switches = switches
        self.processorTime = processorTime
    }

    /// - Parameters:
    ///   - status: content of a thread's `status`.
    ///   - schedule: content of its `schedstat`: ns on a processor, ns waiting for one, number of runs.
    init(status: String, schedule: String) {
        self.init()
        for line in status.split(separator: "\n") where line.contains("voluntary_ctxt_switches:") {
            switches += line.split(separator: "\t").last.flatMap { Int($0) } ?? 0
        }
        processorTime = .nanoseconds(schedule.split(separator: " ").first.flatMap { Int64($0) } ?? 0)
    }

    static func + (one: ProcessWork, other: ProcessWork) -> ProcessWork {
        ProcessWork(
            switches: one.switches + other.switches, processorTime: one.processorTime + other.processorTime)
    }

    static func - (later: ProcessWork, earlier: ProcessWork) -> ProcessWork {
        ProcessWork(
            switches: later.switches - earlier.switches, processorTime: later.processorTime - earlier.processorTime)
    }
}

/// Memory of programs and their helper processes, in KiB (`smaps_rollup` in proc(5)).
struct ProcessMemory: Equatable {
    /// Proportional set size (PSS): each process counts its share of shared memory.
    var proportional = 0.0
    /// Anonymous memory (heap and stack), a part of `proportional`.
    var anonymous = 0.0
    /// Modified memory, a part of `proportional`. Files in memory are subtracted: the lab's programs lie there and
    /// would count as modified.
    var dirty = 0.0

    init(of programs: [Program]) {
        for text in programs.flatMap(\.processes).compactMap({
            try? String(contentsOfFile: "/proc/\($0)/smaps_rollup", encoding: .utf8)
        }) {
            add(text)
        }
    }

    /// - Parameter rollups: content of each process' `smaps_rollup`.
    init(rollups: [String]) { rollups.forEach { add($0) } }

    private mutating func add(_ rollup: String) {
        for line in rollup.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard words.count >= 2, let value = Double(words[1]) else { continue }
            switch words[0] {
            case "Pss:": proportional += value
            case "Pss_Anon:": anonymous += value
            case "Pss_Dirty:": dirty += value
            case "Pss_Shmem:": dirty -= value
            default: break
            }
        }
    }
}

/// A disk with a journal (ext4 with its defaults), mounted over folders of the device. It counts written data, metadata
/// and journal, as a flash chip would see them.
actor Disk {
    private let lab: Lab
    private let place: String
    private let folders: [String]

    init(in lab: Lab, for folders: [String]) async throws {
        self.lab = lab
        self.folders = folders
        place = "\(lab.directory)/disk"
        let image = "\(lab.directory)/disk.image"
        try await run("truncate", ["-s", "64M", image])
        // Initialise all metadata now. ext4 would do it later, and it would count as written.
        try await run("mkfs.ext4", ["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", image])
        for folder in folders + [place] {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }
        // Load the modules explicitly: without a loop device, the kernel does not load them automatically.
        try await run("modprobe", ["-a", "loop", "ext4"])
        try await run("mount", ["-o", "loop,noatime", image, place])
        for (number, folder) in folders.enumerated() {
            try await run("cp", ["-a", folder, "\(place)/\(number)"])
            try await run("mount", ["--bind", "\(place)/\(number)", folder])
        }
    }

    /// Bytes written so far, including pending writes.
    var written: Int {
        get async throws {
            try await run("sync", ["-f", place])
            // The seventh field is the number of sectors written, of 512 bytes each (Documentation/block/stat.rst).
            let mounts = try String(contentsOfFile: "/proc/self/mounts", encoding: .utf8)
            guard let device = Self.device(at: place, in: mounts) else {
                throw LabError.unexpected("nothing is mounted at \(place)")
            }
            let statistics = try String(contentsOfFile: "/sys/block/\(device)/stat", encoding: .utf8)
            guard let sectors = Self.sectorsWritten(statistics) else {
                throw LabError.unexpected("/sys/block/\(device)/stat says \(statistics)")
            }
            return sectors * 512
        }
    }

    /// Returns the block device that is mounted at `place`, such as `loop0`.
    static func device(at place: String, in mounts: String) -> String? {
        let lines = mounts.split(separator: "\n").map { $0.split(separator: " ") }
        return lines.last { $0.count > 1 && $0[0].hasPrefix("/dev/") && $0[1] == place }.map {
            String($0[0].dropFirst("/dev/".count))
        }
    }

    static func sectorsWritten(_ statistics: String) -> Int? {
        let figures = statistics.split(whereSeparator: \.isWhitespace)
        return figures.count > 6 ? Int(figures[6]) : nil
    }

    func remove() async throws {
        for folder in folders.reversed() { try await run("umount", [folder]) }
        try await run("umount", [place])
    }

    private func run(_ name: String, _ arguments: [String]) async throws {
        let program = try await lab.start(name, arguments, log: "disk")
        try await eventually(within: .seconds(60), "\(name) to end") { !program.isRunning }
        guard program.exitStatus == 0 else {
            throw LabError.failed(program: name, status: program.exitStatus ?? -1, said: program.lastLines)
        }
    }
}
