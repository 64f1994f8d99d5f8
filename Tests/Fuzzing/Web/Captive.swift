import AgentModel
import Connectivity

extension FuzzTarget {
    /// Nothing that it says has a network asked all the time, or never.
    static let captive = FuzzTarget(
        "captive", "what a network says of itself (RFC 8908)", longest: 1024,
        seeds: {
            bytes([
                """
                {"captive":true,"user-portal-url":"https://a.example/","venue-info-url":"https://b.example/",\
                "can-extend-session":true,"seconds-remaining":60,"bytes-remaining":1000}
                """,
                #"{"captive":false}"#,
            ])
        }
    ) { bytes in
        let json = bytes
        do throws(CaptivePortalFailure) {
            let state = try CaptiveState(json: json)
            precondition([state.secondsRemaining, state.bytesRemaining].allSatisfy { $0 ?? 0 >= 0 })
            precondition(state.userPortal?.scheme != .http)
            check(state)
        } catch {
            // What the network sent is not repeated, for it ends up in logs.
            precondition(error.description.utf8.count < 120)
        }
    }
}

/// Whatever it says, it is asked again in time and not all the time, and a verdict comes of it.
private func check(_ state: CaptiveState) {
    for now in [0, 1 << 40] {
        let asked = Instant(milliseconds: Int64(now))
        let schedule = CaptiveSchedule(after: state, asked: asked)
        precondition(schedule.next >= asked + CaptiveSchedule.shortestInterval)
        precondition(schedule.next <= asked + CaptiveSchedule.longestInterval)
        precondition(schedule.end.map { $0 >= asked } ?? true)
    }
    let verdict = OnlineVerdict(finding: .online, state: state)
    precondition(verdict.internet == .yes && verdict.portal == state.userPortal?.description)
}
