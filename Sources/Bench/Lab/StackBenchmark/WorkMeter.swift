import FoundationEssentials

/// The work of a program and its helper processes from one moment on, all threads of them.
///
/// Of a thread that has ended the kernel tells nothing any more. So they are looked at more often than a pool of
/// threads lets one of them go (libdispatch after five seconds of idleness); what a thread did after the last look is
/// all that is missing.
struct WorkMeter {
    static let interval = Duration.seconds(2)

    let program: Program
    private var tally: WorkTally

    init(_ program: Program) {
        self.program = program
        tally = WorkTally(Self.threads(of: program))
    }

    /// To be called every `interval`, and at the end.
    mutating func look() { tally.note(Self.threads(of: program)) }

    /// Up to the last look.
    var work: ProcessWork { tally.work }

    private static func threads(of program: Program) -> [Int32: ProcessWork] {
        var threads: [Int32: ProcessWork] = [:]
        for process in program.processes {
            let folder = "/proc/\(process)/task"
            for thread in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
                // Both, or the thread has just ended.
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

/// The work of threads, those that are gone included.
struct WorkTally {
    /// By the threads' ids.
    private let atFirst: [Int32: ProcessWork]
    private var latest: [Int32: ProcessWork]

    init(_ threads: [Int32: ProcessWork]) { (atFirst, latest) = (threads, threads) }

    mutating func note(_ threads: [Int32: ProcessWork]) { latest.merge(threads) { $1 } }

    var work: ProcessWork {
        latest.map { $1 - (atFirst[$0] ?? ProcessWork()) }.reduce(ProcessWork(), +)
    }
}

/// The work of threads since they began (proc(5)).
struct ProcessWork: Equatable {
    /// Context switches, wanted or not.
    var switches = 0
    /// On a processor, in the kernel or out of it.
    var processorTime = Duration.zero

    init(switches: Int = 0, processorTime: Duration = .zero) {
        self.switches = switches
        self.processorTime = processorTime
    }

    /// Of one thread.
    /// - Parameters:
    ///   - status: the text of its `status`.
    ///   - schedule: the text of its `schedstat`: nanoseconds on a processor, nanoseconds waited for one, times there.
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

/// The memory of programs and their helper processes, in KiB (`smaps_rollup` in proc(5)).
struct ProcessMemory: Equatable {
    /// Shared memory counts for each process by its share (PSS).
    var proportional = 0.0
    /// Of that, what no file backs.
    var anonymous = 0.0
    /// Of that, the part that was written to. The lab's programs lie in a file system in memory, and are dirty by that:
    /// it is left out.
    var dirty = 0.0

    init(of programs: [Program]) {
        for text in programs.flatMap(\.processes).compactMap({
            try? String(contentsOfFile: "/proc/\($0)/smaps_rollup", encoding: .utf8)
        }) {
            add(text)
        }
    }

    /// - Parameter rollups: the text of each process.
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

/// A disk with a journalling file system (ext4 with its defaults) that lies over folders of the device and counts what
/// is written to it: data, metadata and journal, as a flash chip would see it.
actor Disk {
    private let lab: Lab
    private let place: String
    private let folders: [String]

    /// Copies the content of the folders over.
    init(in lab: Lab, for folders: [String]) async throws {
        self.lab = lab
        self.folders = folders
        place = "\(lab.directory)/disk"
        let image = "\(lab.directory)/disk.image"
        try await run("truncate", ["-s", "64M", image])
        // Nothing left to be done later, which would count as written.
        try await run("mkfs.ext4", ["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", image])
        for folder in folders + [place] {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }
        // Without the module there is no device yet that would load it.
        try await run("modprobe", ["-a", "loop", "ext4"])
        try await run("mount", ["-o", "loop,noatime", image, place])
        for (number, folder) in folders.enumerated() {
            try await run("cp", ["-a", folder, "\(place)/\(number)"])
            try await run("mount", ["--bind", "\(place)/\(number)", folder])
        }
    }

    /// Bytes written so far, with everything that was waiting to be.
    var written: Int {
        get async throws {
            try await run("sync", ["-f", place])
            // Sectors of 512 bytes are its seventh figure (Documentation/block/stat.rst).
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

    /// The block device mounted there, such as `loop0`.
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
