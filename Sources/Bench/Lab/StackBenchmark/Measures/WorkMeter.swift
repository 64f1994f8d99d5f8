import FoundationEssentials

/// What a program and its helper processes do from one moment on, all threads of them.
///
/// Of a thread that has ended the kernel tells nothing any more. So they are looked at more often than a pool of threads lets one
/// of them go (libdispatch after five seconds of idleness); what a thread did after the last look is all that is missing.
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

/// What threads have done, those that are gone included.
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
