import AgentModel
import Testing

@testable import Connectivity

@Suite struct ConnectionOpenerTests {
    @Test(arguments: [(true, ReachProblem.tlsFailed), (false, .clockNotSet)])
    func onlyAClockThatIsNotSetExplainsTLS(isClockSet: Bool, expected: ReachProblem) async throws {
        let problem = try await problem(of: .setUp("no TLS"), isClockSet: isClockSet)
        #expect(problem == expected)
        let silence = try await self.problem(of: .timedOut, isClockSet: isClockSet)
        #expect(silence == .timedOut)
    }

    private func problem(of failure: ConnectFailure, isClockSet: Bool) async throws -> ReachProblem? {
        let opener = ConnectionOpener(
            target: try Target(setting: "a=tls://192.0.2.1:443"), trust: try TargetTrust { isClockSet },
            keepAlive: KeepAlive())
        return await withCheckedContinuation { result in
            _ = opener.open(by: { _, _, _ in throw failure }, within: .seconds(1), answer: .seconds(1)) { event in
                if case .ended(let problem) = event { result.resume(returning: problem) }
            }
        }
    }
}
