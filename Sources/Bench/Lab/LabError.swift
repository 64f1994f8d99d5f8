import AgentModel

public enum LabError: Error, Equatable {
    /// The kernel or the user's rights do not permit simulated radios.
    case unavailable(reason: String)
    case missing(program: String)
    /// A program failed. `said` is the end of its output.
    case failed(program: String, status: Int32, said: String)
    /// A daemon ended unexpectedly. `said` is the end of its log.
    case ended(program: String, said: String)
    case system(SystemError)
    case timedOut(what: String, limit: Duration)
    case noRadioLeft(accessPoints: Int)
    /// An unexpected result prevents the rest of the scenario.
    case unexpected(String)
    /// The kernel log shows a defect, so the scenario's results are unreliable.
    case kernelComplained([String])
}

extension LabError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unavailable(let reason): "this machine has no simulated radios: \(reason)"
        case .missing(let program): "a program is missing, run board/lab/install: \(program)"
        case .failed(let program, let status, let said): "\(program) ended with status \(status): \(said)"
        case .ended(let program, let said): "\(program) ended unexpectedly: \(said)"
        case .system(let error): "\(error)"
        case .timedOut(let what, let limit): "still waiting after \(limit) for: \(what)"
        case .noRadioLeft(let count): "all \(count) access points of the lab are in use"
        case .unexpected(let what): what
        case .kernelComplained(let lines): "the kernel logged errors:\n" + lines.joined(separator: "\n")
        }
    }
}

/// Polls `condition` until it is true.
///
/// After the time limit it checks once more, in case the machine was too busy to check often.
/// - Parameter interval: time between checks. Use a longer one if each check makes the agent or another program work,
///   because an emulated processor is slow.
/// - Throws: `LabError.timedOut`.
public func eventually(
    within limit: Duration, every interval: Duration = .milliseconds(10), _ what: String,
    isolation: isolated (any Actor)? = #isolation, condition: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + limit
    while true {
        let isLate = ContinuousClock.now >= deadline
        if try await condition() { return }
        guard !isLate else { throw LabError.timedOut(what: what, limit: limit) }
        try await Task.sleep(for: interval)
    }
}
