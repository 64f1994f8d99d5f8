import AgentModel
import AppProtocol
import AppServer

extension PageWriter {
    func result(of attempt: SwitchAttempt, _ facts: Facts, at now: Instant) -> BrowserResponse {
        let status = facts.attempt ?? attempt.outcome
        switch status?.phase {
        case .committed: return success(attempt, facts)
        case .rolledBack, .failed:
            // Internet access may come after the end of the attempt.
            if isThere(attempt, status?.reason, facts), facts.network?.connectivity?.internet == .yes {
                return success(attempt, facts)
            }
            guard let choice = attempt.network, case .accessPoint = visitor.place else {
                return page(
                    title: localized(.errorTitle), path: "/result",
                    [failure(attempt, status?.reason, facts, at: now), button(.otherNetworks, to: "/networks")])
            }
            return networks(choice, .failed(attempt, status?.reason), facts, at: now)
        case .accepted, .joining, .waitingForAddress, .validating, .waitingForConfirmation, nil:
            return trying(attempt, status?.phase ?? .accepted, at: now)
        }
    }

    static let spinner = HTML.tag("span", [.class("spinner"), .init("aria-hidden", "true")])

    /// Tells the user where to find the result, because the radio may leave before a later page.
    private func trying(_ attempt: SwitchAttempt, _ phase: SwitchPhase, at now: Instant) -> BrowserResponse {
        let (url, seconds) = (visitor.place.url, max(0, (now - attempt.began).milliseconds / 1000))
        var how: [HTML] = [.tag("p", text: localized(.tryingHow))]
        if let url { how.append(.tag("p", [], localized.html(.tryingAgain, "\(url)/"))) }
        let silent = url.map { localized.html(.silent, "\($0)/") } ?? [.text(localized(.silentNetwork))]
        return page(
            title: localized(.trying, attempt.name), heading: localized.html(.trying, attempt.name), path: "/result",
            refresh: true,
            [
                .tag(
                    "div", [.class("busy")],
                    [
                        Self.spinner,
                        .tag(
                            "div", [.init("role", "status")],
                            [live("/result", id: "phase", [.text(localized(phase))])]),
                        .tag("p", [.id("elapsed"), .class("detail")], localized.html(.elapsed, "\(seconds)")),
                    ]),
                .tag(
                    "div", [.init("role", "alert")],
                    [.tag("div", [.id("silent"), .class("warning"), .init("hidden", nil)], [.tag("p", [], silent)])]),
            ] + how)
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
        let addresses = (facts.network?.addresses ?? []).compactMap { IPAddress($0) }.filter { !$0.isLinkLocal }
        let mark = HTML.tag(
            "svg", [.class("mark"), .init("viewBox", "0 0 24 24"), .init("aria-hidden", "true")],
            [.tag("path", [.init("d", "M5 13l4 4L19 7")])])
        var content: [HTML] = []
        if let network = facts.network, [.no, .captive].contains(network.connectivity?.internet) {
            content.append(.tag("p", [.class("warning")], whereabouts(network)))
        }
        switch visitor.place {
        case .accessPoint where attempt.isSeen: content.append(.tag("p", text: localized(.successLeave)))
        case .accessPoint:
            content += [
                .tag("p", [], localized.html(.successNext, name)),
                form("/done", [.tag("button", [.class("main")], text: localized(.done))]),
            ]
        case .network: content.append(button(.status, to: "/status"))
        }
        let places = addresses.map { "\($0)" } + (names.host.map { [$0] } ?? [])
        if !places.isEmpty {
            content.append(
                details(
                    localized(.addresses),
                    [.tag("ul", [], places.map { .tag("li", [], [.tag("code", text: $0)]) })]))
        }
        let title = deviceName.map { localized(.successNamed, name, $0) } ?? localized(.success, name)
        let heading = deviceName.map { localized.html(.successNamed, name, $0) } ?? localized.html(.success, name)
        return page(
            title: title, heading: [mark] + heading, path: "/result",
            [.tag("div", [.class("success")], content)])
    }

    /// Whether the device is in the network of the attempt, which failed only for want of internet access.
    private func isThere(_ attempt: SwitchAttempt, _ reason: ReasonCode?, _ facts: Facts) -> Bool {
        guard let network = facts.network, [ReasonCode(.noInternet), ReasonCode(.captive)].contains(reason) else {
            return false
        }
        return network.state == .online && network.ssid?.description == attempt.name
    }

    /// Says what did not work, why, what to do, and where the device is now.
    func failure(
        _ attempt: SwitchAttempt, _ reason: ReasonCode?, _ facts: Facts, at now: Instant
    ) -> HTML {
        let code = reason.flatMap { localized(.do, $0.rawValue) == nil ? nil : $0.rawValue } ?? "unknown"
        let (why, remedy) = (localized(.why, code) ?? "", localized(.do, code) ?? "")
        let place = facts.network.map(whereabouts) ?? []
        var (title, texts) = (localized.html(.failure, attempt.name), [[HTML.text("\(why) \(remedy)")], place])
        if isThere(attempt, reason, facts) {
            // The status may not have the result of the check yet.
            title = localized.html(reason == ReasonCode(.captive) ? .nowSignIn : .nowNoInternet, attempt.name)
            texts = [[.text(remedy)]]
        }
        if let ended = attempt.ended, case let minutes = Int((now - ended).milliseconds / 60_000), minutes > 0 {
            texts.append([.text(localized(.minutesAgo, count: minutes))])
        }
        return alert(title, texts.filter { !$0.isEmpty })
    }

    /// Returns a sentence that says which network the device is in.
    func whereabouts(_ network: NetworkStatus) -> [HTML] {
        let name = network.ssid?.description ?? localized(.network)
        switch network.state {
        case .joining, .waitingForAddress: return localized.html(.nowJoining, name)
        case .offline: return localized.html(network.uplink == nil ? .nowOffline : .nowUplink)
        case .online:
            switch network.connectivity?.internet {
            case .yes: return localized.html(.nowOnline, name)
            case .no: return localized.html(.nowNoInternet, name)
            case .captive: return localized.html(.nowSignIn, name)
            case .unknown, nil: return localized.html(.nowConnected, name)
            }
        }
    }
}
