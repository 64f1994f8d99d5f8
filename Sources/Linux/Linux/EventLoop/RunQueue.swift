/// The work of a loop, and its timers and watches.
struct RunQueue: Sendable {
    /// Of a timer or a watch; each has its own.
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
        /// Of the actor.
        case isolated(UnownedJob)
        /// Of a task that prefers the thread.
        case preferring(UnownedJob, LoopTasks)
        /// Of no task.
        case call(@Sendable () -> Void)
    }

    private var jobs: [Job] = []
    /// The first due first; of those that are due at one time, the older first.
    private var timers: [Timer] = []
    private(set) var watches: [Watch] = []
    /// Whether the thread waits and was not woken since.
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

    mutating func takeJobs() -> [Job] {
        defer { jobs = [] }
        return jobs
    }

    /// When timers are due, the first one first.
    var dueTimes: [SuspendingClock.Instant] { timers.map(\.due) }

    var nextDue: SuspendingClock.Instant? { timers.first?.due }

    /// Removes the next timer that is due, and returns what it does.
    /// - Parameter isQuiet: whether nothing else is to be done; else only what can wait no longer is due.
    mutating func takeDue(at now: SuspendingClock.Instant, isQuiet: Bool) -> (@Sendable () -> Void)? {
        let index = timers.firstIndex { $0.due <= now && (isQuiet || $0.latest <= now) }
        return index.map { timers.remove(at: $0).action }
    }

    func action(of number: Number) -> (@Sendable () -> Void)? { watches.first { $0.number == number }?.action }

    /// How long nothing has to be done; nil is for ever.
    func patience(at now: SuspendingClock.Instant) -> Duration? {
        guard jobs.isEmpty, timers.first.map({ $0.due > now }) ?? true else { return .zero }
        return timers.map(\.latest).min().map { max($0 - now, .zero) }
    }
}
