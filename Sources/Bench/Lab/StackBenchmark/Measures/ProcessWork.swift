/// What threads have done since they began (proc(5)).
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
