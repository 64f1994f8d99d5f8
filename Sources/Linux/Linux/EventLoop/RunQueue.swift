struct RunQueue: Sendable {
    typealias Number = UInt64

    struct Watch: Sendable {
        let number: Number
        let descriptor: Int32
        let readiness: Readiness
        fileprivate let action: @Sendable () -> Void
    }

    private struct Timer: Sendable {
        let number: Number
        let due: SuspendingClock.Instant
        let latest: SuspendingClock.Instant
        let action: @Sendable () -> Void
    }

    enum Job: Sendable {
        /// A job of the actor.
        case isolated(UnownedJob)
        /// A job of a task that prefers the thread.
        case preferring(UnownedJob, LoopTasks)
        /// A call of a plain closure.
        case call(@Sendable () -> Void)
    }

    private var jobs: [Job] = []
    /// Timers sorted by due time, then by age.
    private var timers: [Timer] = []
    private(set) var watches: [Watch] = []
    /// True while the thread waits and has not been woken.
    var isWaiting = false
    private var lastNumber: Number = 0

    mutating func add(_ job: Job) { jobs.append(job) }

    mutating func add(
        due: SuspendingClock.Instant, latest: SuspendingClock.Instant, _ action: @escaping @Sendable () -> Void
    ) -> Number {
        lastNumber += 1
        let place = timers.firstIndex { $0.due > due } ?? timers.endIndex
        timers.insert(Timer(number: lastNumber, due: due, latest: latest, action: action), at: place)
        return lastNumber
    }

    mutating func add(
        descriptor: Int32, _ readiness: Readiness, _ action: @escaping @Sendable () -> Void
    ) -> Number {
        lastNumber += 1
        watches.append(Watch(number: lastNumber, descriptor: descriptor, readiness: readiness, action: action))
        return lastNumber
    }

    mutating func remove(_ number: Number) {
        timers.removeAll { $0.number == number }
        watches.removeAll { $0.number == number }
    }

    mutating func drainJobs() -> [Job] {
        defer { jobs = [] }
        return jobs
    }

    /// Due times of all timers, earliest first.
    var dueTimes: [SuspendingClock.Instant] { timers.map(\.due) }

    var nextDue: SuspendingClock.Instant? { timers.first?.due }

    /// Removes the next due timer and returns its action.
    /// - Parameter isQuiet: true if the loop is idle; false takes only timers whose leeway has passed.
    mutating func dequeueDue(at now: SuspendingClock.Instant, isQuiet: Bool) -> (@Sendable () -> Void)? {
        let index = timers.firstIndex { $0.due <= now && (isQuiet || $0.latest <= now) }
        return index.map { timers.remove(at: $0).action }
    }

    func action(of number: Number) -> (@Sendable () -> Void)? { watches.first { $0.number == number }?.action }

    /// Returns how long the loop may wait; nil means forever.
    func patience(at now: SuspendingClock.Instant) -> Duration? {
        guard jobs.isEmpty, timers.first.map({ $0.due > now }) ?? true else { return .zero }
        return timers.map(\.latest).min().map { max($0 - now, .zero) }
    }
}
