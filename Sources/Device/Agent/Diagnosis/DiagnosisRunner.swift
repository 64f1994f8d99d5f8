import AgentModel
import AppProtocol
import Linux

@AgentLoop
final class DiagnosisRun {
    var facts = DiagnosisFacts()
}

/// Runs diagnoses, and limits them because they send packets. Simultaneous callers share one diagnosis. Further callers
/// get the same result until ``pace`` has passed since its end.
@AgentLoop
final class DiagnosisRunner {
    /// Time limit of a diagnosis. It skips the layers that it has not reached by then.
    static let limit: Duration = .seconds(13)
    static let pace: Duration = .seconds(10)

    private let now: @Sendable () -> Instant
    private var running: Task<Diagnosis, Never>?
    private var last: (diagnosis: Diagnosis, end: Instant)?

    init(now: @escaping @Sendable () -> Instant = { .now }) { self.now = now }

    func diagnosis(_ look: @escaping @AgentLoop (DiagnosisRun) async -> Void) async -> Diagnosis {
        if let running { return await running.value }
        if let last, now() - last.end < Self.pace { return last.diagnosis }
        let task = Task {
            let run = DiagnosisRun()
            let work = Task { await look(run) }
            await work.end(within: Self.limit)
            work.cancel()
            let diagnosis = Diagnosis(steps: run.facts.steps, checked: .now)
            last = (diagnosis, now())
            running = nil
            return diagnosis
        }
        running = task
        return await task.value
    }
}
