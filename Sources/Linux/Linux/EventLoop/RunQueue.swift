/// What a loop's thread has to do, and what it waits for.
struct RunQueue: Sendable {
    /// Of a timer or a watch; none has it twice.
    typealias Number = UInt64

    struct Watch: Sendable {
        let number: Number
        let descriptor: Int32
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
    }

    private var jobs: [Job] = []
    /// The first due first; of those that are due at one time, the older first.
    private var timers: [Timer] = []
    private(set) var watches: [Watch] = []
    /// Whether the thread waits, and nobody has woken it.
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

    mutating func add(descriptor: Int32, _ action: @escaping @Sendable () -> Void) -> Number {
        lastNumber += 1
        watches.append(Watch(number: lastNumber, descriptor: descriptor, action: action))
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

    /// The next timer that is due, which is none any more.
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
