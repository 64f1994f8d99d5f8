import AgentModel
import AppProtocol
import AppServer

extension PageWriter {
    func result(of attempt: SwitchAttempt, _ facts: Facts) -> BrowserResponse {
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

    /// Tells the user where to find the result, because the radio may leave before a later page.
    private func trying(_ attempt: SwitchAttempt, _ phase: SwitchPhase) -> BrowserResponse {
        var how: [HTML] = [.tag("li", text: localized(.tryingHow))]
        if let url = visitor.place.url { how.append(.tag("li", text: localized(.tryingAgain, "\(url)/"))) }
        if let host = names.host { how.append(.tag("li", text: localized(.tryingName, host))) }
        return page(
            title: localized(.trying, attempt.name), path: "/result", refresh: (3, "/result"), isLive: true,
            [
                .tag("p", [.id("phase"), .init("role", "status"), .class("busy")], text: localized(phase)),
                .tag("h2", text: localized(.tryingPlace)),
                .tag("ul", [], how),
            ])
    }

    private func localized(_ phase: SwitchPhase) -> String {
        switch phase {
        case .accepted, .committed, .rolledBack, .failed: localized(.phaseAccepted)
        case .joining: localized(.phaseJoining)
        case .waitingForAddress: localized(.phaseAddress)
        case .validating: localized(.phaseValidating)
        case .waitingForConfirmation: localized(.phaseConfirmation)
        }
    }

    private func success(_ attempt: SwitchAttempt, _ facts: Facts) -> BrowserResponse {
        let name = facts.network?.ssid?.description ?? attempt.name
        var content: [HTML] = []
        let addresses = (facts.network?.addresses ?? []).compactMap { IPAddress($0) }.filter { !$0.isLinkLocal }
        if !addresses.isEmpty {
            content += [.tag("p", text: localized(.successAddress, name)), .tag("ul", [], addresses.map(address))]
        }
        if let host = names.host { content.append(.tag("p", text: localized(.successName, host))) }
        if case .accessPoint = visitor.place { content.append(.tag("p", text: localized(.successLeave))) }
        content.append(
            .tag("p", [], [.tag("a", [.class("button"), .href("/networks")], text: localized(.otherNetworks))]))
        return page(title: localized(.success, name), path: "/result", content)
    }

    private func address(_ address: IPAddress) -> HTML {
        guard let port = names.port else { return .tag("li", [], [.tag("code", text: "\(address)")]) }
        let url = "https://" + (address.isIPv4 ? "\(address)" : "[\(address)]") + ":\(port)/"
        return .tag("li", [], [.tag("a", [.href(url)], text: url)])
    }

    private func failure(_ attempt: SwitchAttempt, _ reason: ReasonCode?) -> BrowserResponse {
        page(
            title: localized(.errorTitle), path: "/result",
            [
                alert(localized(.failure, attempt.name), [localized(Phrase(reason)), localized(.failureBack)]),
                .tag("p", [], [.tag("a", [.class("button"), .href("/networks")], text: localized(.otherNetworks))]),
            ])
    }

    /// Returns the progress as JSON for the script of an open page.
    func live(_ attempt: SwitchAttempt, _ facts: Facts) -> BrowserResponse {
        struct Progress: Encodable {
            let done: Bool
            let text: String
        }
        let phase = (facts.attempt ?? attempt.outcome)?.phase ?? .accepted
        guard let body = try? OutsideJSON.encode(Progress(done: phase.isOutcome, text: localized(phase))) else {
            return BrowserResponse(500)
        }
        return BrowserResponse(
            200,
            [
                ("Content-Type", "application/json"), ("Cache-Control", "no-store"),
                ("X-Content-Type-Options", "nosniff"),
            ], body: body)
    }
}
