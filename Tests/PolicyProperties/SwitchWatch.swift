import Failover

/// Every commanded switch has exactly one outcome, within a bounded time, and it is stored just before it is told.
struct SwitchWatch {
    private var open: [UInt64: OpenSwitch] = [:]
    private var ended: Set<UInt64> = []
    private var isStopped = false
    /// Whether a switch has no outcome yet.
    var isOpen: Bool { !isStopped && !open.isEmpty }
    private(set) var longest = Duration.zero

    /// How far a switch has come.
    private struct OpenSwitch {
        let confirmWithin: Duration
        var isAccepted: Bool
        /// The time it took so far.
        var age = Duration.zero
    }

    mutating func check(_ exchange: Exchange) throws(Violation) {
        for id in open.keys { open[id]?.age += exchange.awake }
        // A switch under way has its time again.
        if exchange.changesSettings { for id in open.keys { open[id]?.age = .zero } }
        for event in exchange.events { update(event) }
        var stored: (id: UInt64, isCommitted: Bool)?
        for action in exchange.actions {
            switch action {
            case .store(.switchEnded(let id, let isCommitted)):
                if let stored { throw exchange.broken("the outcome of switch \(stored.id) was stored and not told") }
                stored = (id, isCommitted)
            case .switchProgress(let id, let progress):
                try check(id, progress, stored: stored, in: exchange)
                if progress.isFinal { stored = nil }
            default: break
            }
        }
        if let stored { throw exchange.broken("the outcome of switch \(stored.id) was stored and not told") }
        if exchange.events.contains(.stop) { isStopped = true }
        guard !isStopped else { return }
        for (id, course) in open where course.age - course.confirmWithin > Bounds.outcome {
            throw exchange.broken("switch \(id) has no outcome after \(course.age)")
        }
    }

    private mutating func update(_ event: PolicyEvent) {
        switch event {
        case .switchTo(_, let id, let confirmWithin, _):
            open[id] = OpenSwitch(confirmWithin: confirmWithin ?? .zero, isAccepted: false)
        case .interrupted(let id, _, _): open[id] = OpenSwitch(confirmWithin: .zero, isAccepted: true)
        default: break
        }
    }

    private mutating func check(
        _ id: UInt64, _ progress: SwitchProgress, stored: (id: UInt64, isCommitted: Bool)?, in exchange: Exchange
    ) throws(Violation) {
        guard let course = open[id] else {
            throw exchange.broken(
                ended.contains(id) ? "\(progress) after the outcome of switch \(id)" : "switch \(id) was not ordered")
        }
        guard progress.isFinal else {
            if progress != .accepted, !course.isAccepted { throw exchange.broken("\(progress) before .accepted") }
            if progress == .accepted, course.isAccepted { throw exchange.broken("accepted twice") }
            open[id]?.isAccepted = true
            return
        }
        open[id] = nil
        ended.insert(id)
        longest = max(longest, course.age - course.confirmWithin)
        if let stored {
            guard stored.id == id, stored.isCommitted == (progress == .committed) else {
                throw exchange.broken("switch \(id) ended with \(progress), but \(stored) was stored")
            }
        } else if course.isAccepted {
            throw exchange.broken("switch \(id) ended with \(progress), which was not stored before")
        }
        if !course.isAccepted, case .failed = progress { return }
        guard course.isAccepted else { throw exchange.broken("\(progress) of a switch that was not accepted") }
    }
}

extension Exchange {
    fileprivate func broken(_ detail: String) -> Violation { Violation(.oneOutcome, detail, at: at) }
}
