import AgentModel
import AppProtocol
import AppServer

extension PageWriter {
    func result(of attempt: Attempt, _ facts: Facts) -> WebResponse {
        let status = facts.attempt ?? attempt.outcome
        switch status?.phase {
        case .committed: return success(attempt, facts)
        case .rolledBack, .failed:
            guard let choice = attempt.network, case .accessPoint = visitor.place else {
                return failure(attempt, status?.reason)
            }
            return networks(nil, .failed(choice, status?.reason), facts)
        case .accepted, .joining, .waitingForAddress, .validating, .waitingForConfirmation, nil:
            return trying(attempt, status?.phase ?? .accepted)
        }
    }

    /// Shows where to find the result, because the radio may leave before a later page.
    private func trying(_ attempt: Attempt, _ phase: SwitchPhase) -> WebResponse {
        var how: [HTML] = [.tag("li", text: say(.tryingHow))]
        if let url = visitor.place.url { how.append(.tag("li", text: say(.tryingAgain, "\(url)/"))) }
        if let host = names.host { how.append(.tag("li", text: say(.tryingName, host))) }
        return page(
            title: say(.trying, attempt.name), path: "/result", refresh: (3, "/result"), isLive: true,
            [
                .tag("p", [.id("phase"), .init("role", "status"), .class("busy")], text: say(phase)),
                .tag("h2", text: say(.tryingPlace)),
                .tag("ul", [], how),
            ])
    }

    private func say(_ phase: SwitchPhase) -> String {
        switch phase {
        case .accepted, .committed, .rolledBack, .failed: say(.phaseAccepted)
        case .joining: say(.phaseJoining)
        case .waitingForAddress: say(.phaseAddress)
        case .validating: say(.phaseValidating)
        case .waitingForConfirmation: say(.phaseConfirmation)
        }
    }

    private func success(_ attempt: Attempt, _ facts: Facts) -> WebResponse {
        let name = facts.network?.ssid?.description ?? attempt.name
        var content: [HTML] = []
        let addresses = (facts.network?.addresses ?? []).compactMap { IPAddress($0) }.filter { !$0.isLinkLocal }
        if !addresses.isEmpty {
            content += [.tag("p", text: say(.successAddress, name)), .tag("ul", [], addresses.map(address))]
        }
        if let host = names.host { content.append(.tag("p", text: say(.successName, host))) }
        if case .accessPoint = visitor.place { content.append(.tag("p", text: say(.successLeave))) }
        content.append(.tag("p", [], [.tag("a", [.class("button"), .href("/networks")], text: say(.otherNetworks))]))
        return page(title: say(.success, name), path: "/result", content)
    }

    private func address(_ address: IPAddress) -> HTML {
        guard let port = names.port else { return .tag("li", [], [.tag("code", text: "\(address)")]) }
        let url = "https://" + (address.isIPv4 ? "\(address)" : "[\(address)]") + ":\(port)/"
        return .tag("li", [], [.tag("a", [.href(url)], text: url)])
    }

    private func failure(_ attempt: Attempt, _ reason: ReasonCode?) -> WebResponse {
        page(
            title: say(.errorTitle), path: "/result",
            [
                alert(say(.failure, attempt.name), [say(Phrase(reason)), say(.failureBack)]),
                .tag("p", [], [.tag("a", [.class("button"), .href("/networks")], text: say(.otherNetworks))]),
            ])
    }

    /// Returns the progress as JSON for the script of an open page.
    func live(_ attempt: Attempt, _ facts: Facts) -> WebResponse {
        struct Progress: Encodable {
            let done: Bool
            let text: String
        }
        let phase = (facts.attempt ?? attempt.outcome)?.phase ?? .accepted
        guard let body = try? OutsideJSON.encode(Progress(done: phase.isOutcome, text: say(phase))) else {
            return WebResponse(500)
        }
        return WebResponse(
            200,
            [
                ("Content-Type", "application/json"), ("Cache-Control", "no-store"),
                ("X-Content-Type-Options", "nosniff"),
            ], body: body)
    }
}
