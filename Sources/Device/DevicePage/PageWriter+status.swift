import AgentModel
import AppProtocol
import AppServer

// Pages in the network, which need a key.
extension PageWriter {
    func status(_ facts: Facts, at now: Instant) -> BrowserResponse {
        guard let network = facts.network else { return error(503, .errorRefused, nil) }
        var rows: [(Phrase, String)] = [(.state, localized(network.state))]
        if let name = network.deviceName { rows.insert((.deviceName, name.text), at: 0) }
        rows.append((.network, network.ssid?.description ?? localized(.noWifi)))
        if let signal = network.wifiSignal, let quality = network.quality {
            rows.append((.layerAssociation, "\(localized(.signal, "\(quality)")) (\(signal) dBm)"))
        }
        if let connectivity = network.connectivity {
            let internet = localized(connectivity)
            rows.append((.internet, network.isMetered ? localized(.internetMetered, internet) : internet))
        }
        if !network.addresses.isEmpty { rows.append((.addresses, network.addresses.joined(separator: ", "))) }
        rows.append((.since, Self.words(network.since)))
        let list = rows.flatMap { phrase, text -> [HTML] in
            [.tag("dt", text: localized(phrase)), .tag("dd", [.init("dir", "auto")], text: text)]
        }
        return page(
            title: localized(.status), path: "/status",
            [.tag("dl", [], list), .tag("h2", text: localized(.signalChart))] + chart(facts.signal, at: now)
                + naming(network))
    }

    /// Returns the form for the device's name; nothing for a user without the role `manage`.
    func naming(_ network: NetworkStatus?) -> [HTML] {
        guard visitor.may(.manage) else { return [] }
        return [
            form(
                "/name",
                [
                    .tag("label", [.init("for", "deviceName")], text: localized(.nameDevice)),
                    .tag(
                        "input",
                        [
                            .id("deviceName"), .name("deviceName"), .init("maxlength", "\(DeviceName.maximumLength)"),
                            .init("autocomplete", "off"), .init("dir", "auto"), .value(network?.deviceName?.text ?? ""),
                        ]),
                    .tag("button", [.class("plain")], text: localized(.saveName)),
                ])
        ]
    }

    /// Returns a text such as `2026-02-03 04:05:06 UTC`.
    private static func words(_ time: Timestamp) -> String {
        let text = "\(time)"
        return "\(text.prefix(10)) \(text.dropFirst(11).prefix(8)) UTC"
    }

    private func localized(_ state: LinkState) -> String {
        switch state {
        case .offline: localized(.stateOffline)
        case .joining: localized(.stateJoining)
        case .waitingForAddress: localized(.stateAddress)
        case .online: localized(.stateOnline)
        }
    }

    private func localized(_ connectivity: Connectivity) -> String {
        switch connectivity.internet {
        case .yes: localized(.internetYes)
        case .no: localized(.internetNo)
        case .captive: localized(.internetCaptive)
        case .unknown: localized(connectivity.checksInternet ? .internetUnknown : .internetUnchecked)
        }
    }

    private func chart(_ samples: [SignalTrace.Sample], at now: Instant) -> [HTML] {
        guard let last = samples.last, let least = samples.map(\.signal).min(),
            let most = samples.map(\.signal).max(), let first = samples.first
        else { return [.tag("p", text: localized(.signalNone))] }
        let minutes = max(1, (now - first.time).milliseconds / 60_000)
        let summary = localized(.signalSummary, "\(minutes)", "\(least)", "\(most)", "\(last.signal)")
        let (width, height) = (600, 200)
        func y(_ signal: Int) -> Int { (-30 - min(max(signal, -100), -30)) * height / 70 }
        func x(_ time: Instant) -> Int {
            let age = min(max((now - time).milliseconds, 0), SignalTrace.span.milliseconds)
            return width - Int(age) * width / Int(SignalTrace.span.milliseconds)
        }
        let points = samples.map { "\(x($0.time)),\(y($0.signal))" }.joined(separator: " ")
        let lines = [-50, -70, -90].flatMap { signal -> [HTML] in
            [
                .tag(
                    "line",
                    [
                        .init("x1", "0"), .init("x2", "\(width)"), .init("y1", "\(y(signal))"),
                        .init("y2", "\(y(signal))"), .class("grid"),
                    ]),
                .tag("text", [.init("x", "4"), .init("y", "\(y(signal) - 4)")], text: "\(signal) dBm"),
            ]
        }
        // Marks the newest sample, because a polyline with one point is invisible.
        let dot = HTML.tag(
            "circle", [.init("cx", "\(x(last.time))"), .init("cy", "\(y(last.signal))"), .init("r", "5")])
        let picture = HTML.tag(
            "svg",
            [
                .class("chart"), .init("viewBox", "0 0 \(width) \(height)"), .init("role", "img"),
                .init("aria-label", summary),
            ],
            lines + [.tag("polyline", [.init("points", points)]), dot])
        return [picture, .tag("p", text: summary)]
    }

    func history(_ facts: Facts) -> BrowserResponse {
        let decisions = facts.history?.decisions.reversed() ?? []
        guard !decisions.isEmpty else {
            return page(title: localized(.history), path: "/history", [.tag("p", text: localized(.historyEmpty))])
        }
        let head = HTML.tag(
            "tr", [], [.historyTime, .historyWhat].map { .tag("th", [.init("scope", "col")], text: localized($0)) })
        let rows = decisions.map { decision -> HTML in
            // The device's text is English; the reason is translated.
            var what: [HTML] = [.tag("span", [.init("lang", "en")], text: decision.text.printable)]
            if let reason = Phrase(rawValue: "reason.\(decision.reason.rawValue)") {
                what.append(.tag("span", [.class("detail")], text: localized(reason)))
            }
            let time = "\(decision.time)"
            return .tag(
                "tr", [],
                [
                    .tag("td", [], [.tag("time", [.init("datetime", time)], text: Self.words(decision.time))]),
                    .tag("td", [], what),
                ])
        }
        let table = HTML.tag("table", [], [.tag("thead", [], [head]), .tag("tbody", [], Array(rows))])
        return page(title: localized(.history), path: "/history", [table])
    }

    func diagnosis(_ isRun: Bool, _ facts: Facts) -> BrowserResponse {
        var content: [HTML] = [.tag("p", text: localized(.diagnosisHelp))]
        if isRun, let steps = facts.diagnosis?.steps {
            content.append(
                .tag(
                    "ul", [.class("steps")],
                    steps.map { step in
                        var text: [HTML] = [
                            .tag("strong", text: "\(localized(Phrase(step.layer))): \(localized(step.result))"),
                            .tag("span", [.class("detail"), .init("lang", "en")], text: step.found.printable),
                        ]
                        if let remedy = step.remedy {
                            text.append(.tag("span", [.class("detail"), .init("lang", "en")], text: remedy.printable))
                        }
                        return .tag("li", [.class(step.result.rawValue)], text)
                    }))
        }
        content.append(form("/diagnosis", [.tag("button", text: localized(.diagnosisRun))]))
        return page(title: localized(.diagnosis), path: "/diagnosis", content)
    }

    private func localized(_ result: Diagnosis.Result) -> String {
        switch result {
        case .good: localized(.resultGood)
        case .broken: localized(.resultBroken)
        case .doubtful: localized(.resultDoubtful)
        case .skipped: localized(.resultSkipped)
        }
    }
}
