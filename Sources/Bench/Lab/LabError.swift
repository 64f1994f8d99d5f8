import AgentModel
import Linux

/// Why the lab could not do what a scenario asked of it.
public enum LabError: Error, Equatable {
    /// This kernel, or this user, cannot have simulated radios.
    case unavailable(reason: String)
    /// A program that the lab needs is not installed.
    case missing(program: String)
    /// A program did not succeed; `said` is the end of what it wrote.
    case failed(program: String, status: Int32, said: String)
    /// A daemon ended by itself; `said` is the end of its log.
    case ended(program: String, said: String)
    /// A daemon answered a control request with something else than success.
    case refused(command: String, reply: String)
    /// A call to the system failed.
    case system(SystemError)
    /// The awaited event did not happen.
    case timedOut(what: String, limit: Duration)
    /// All radios that the lab was started with are in use.
    case noRadioLeft(accessPoints: Int)
    /// Something else came out than the scenario needs to go on.
    case unexpected(String)
    /// The kernel's own log shows a defect, so nothing that the scenario showed can be trusted.
    case kernelComplained([String])
}

extension LabError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unavailable(let reason): "no simulated radios here: \(reason)"
        case .missing(let program): "\(program) is not installed; run board/lab/install"
        case .failed(let program, let status, let said): "\(program) ended with status \(status): \(said)"
        case .ended(let program, let said): "\(program) ended by itself: \(said)"
        case .refused(let command, let reply): "\(command) was answered with “\(reply)”"
        case .system(let error): "\(error)"
        case .timedOut(let what, let limit): "still waiting after \(limit) for: \(what)"
        case .noRadioLeft(let count): "the lab was started with \(count) access points and all are in use"
        case .unexpected(let what): what
        case .kernelComplained(let lines): "the kernel complained:\n" + lines.joined(separator: "\n")
        }
    }
}

/// Waits until `condition` holds, looking again and again, and throws `LabError.timedOut` if it does not in time.
///
/// The condition is looked at once more after the time is up: a machine too busy to look often is no failure.
/// - Parameter interval: how long to wait before looking again; longer where a look is work, for the agent or for
///   another program, since an emulated processor does little beside it.
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
