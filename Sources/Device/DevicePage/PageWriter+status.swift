import AgentModel
import AppProtocol
import AppServer

// Pages in the network, which need a key.
extension PageWriter {
    func status(_ facts: Facts, at now: Instant) -> BrowserResponse {
        guard let network = facts.network else { return error(503, .errorRefused, nil) }
        let name = network.ssid.map { HTML.tag("bdi", text: $0.description) } ?? .text(localized(.noWifi))
        var rows: [(Phrase, [HTML])] = [(.network, [name])]
        if let signal = network.wifiSignal, let quality = network.quality {
            // Without the element, a right-to-left page would show the sign behind the number.
            let level = HTML.tag("bdi", text: "\(signal)\u{a0}dBm")
            rows.append((.wifi, [.text("\(localized(.signal, "\(quality)")) ("), level, .text(")")]))
        }
        if network.isMetered { rows.append((.metered, [.text(localized(.yes))])) }
        if !network.addresses.isEmpty {
            rows.append((.addresses, [.tag("bdi", text: network.addresses.joined(separator: ", "))]))
        }
        rows.append((.since, [time(network.since)]))
        let list = rows.flatMap { phrase, content -> [HTML] in
            [.tag("dt", text: localized(phrase)), .tag("dd", [], content)]
        }
        let state = network.state == .online ? "good" : "broken"
        let sentence = HTML.tag("p", [.class("headline \(state)")], whereabouts(network))
        let unchecked =
            network.connectivity?.checksInternet == false
            ? [HTML.tag("p", [.class("help")], text: localized(.unchecked))] : []
        return page(
            title: localized(.status), path: "/status",
            [
                live(
                    "/status",
                    [sentence] + unchecked + [.tag("dl", [], list), .tag("h2", text: localized(.signalChart))]
                        + chart(facts.signal, isOnline: network.state == .online, at: now))
            ] + naming(network))
    }

    /// Returns the form for the device's name; nothing for a user without the role `manage`.
    func naming(_ network: NetworkStatus?) -> [HTML] {
        guard visitor.may(.manage) else { return [] }
        return [
            form(
                "/name", attributes: [.class("naming")],
                [
                    .tag("label", [.init("for", "deviceName")], text: localized(.nameDevice)),
                    .tag(
                        "input",
                        [
                            .id("deviceName"), .name("deviceName"), .init("maxlength", "\(DeviceName.maximumLength)"),
                            .init("autocomplete", "off"), .init("dir", "auto"), .value(network?.deviceName?.text ?? ""),
                        ]),
                    .tag("button", [.class("plain")], text: localized(.save)),
                ])
        ]
    }

    private func chart(_ samples: [SignalTrace.Sample], isOnline: Bool, at now: Instant) -> [HTML] {
        let signals = samples.compactMap(\.signal)
        guard let least = signals.min(), let most = signals.max(), let last = samples.last else {
            return [.tag("p", text: localized(.signalNone))]
        }
        // Shows a loss even if its event is late.
        let current = isOnline ? last.signal : nil
        let (width, height) = (600, 160)
        func y(_ signal: Int) -> Int { (-30 - min(max(signal, -100), -30)) * height / 70 }
        func x(_ time: Instant) -> Int {
            let age = min(max((now - time).milliseconds, 0), SignalTrace.span.milliseconds)
            return width - Int(age) * width / Int(SignalTrace.span.milliseconds)
        }
        let lines = [-50, -70, -90].flatMap { signal -> [HTML] in
            [
                .tag(
                    "line",
                    [
                        .init("x2", "100%"), .init("y1", "\(y(signal))"), .init("y2", "\(y(signal))"), .class("grid"),
                    ]),
                .tag("text", [.init("x", "4"), .init("y", "\(y(signal) - 4)")], text: "\(signal)\u{a0}dBm"),
            ]
        }
        // A line ends where the link was lost. Its last sample holds until then.
        let curves = samples.split { $0.signal == nil }.map { part -> HTML in
            let end = samples.indices.contains(part.endIndex) ? samples[part.endIndex].time : isOnline ? now : last.time
            let points = part.compactMap { sample in sample.signal.map { "\(x(sample.time)),\(y($0))" } }
            let hold = part.last?.signal.map { ["\(x(end)),\(y($0))"] } ?? []
            return .tag("polyline", [.init("points", (points + hold).joined(separator: " "))])
        }
        let range = localized(.signalRange, "\(least)", "\(most)")
        let words = current.map { localized(.signalNow, "\($0)") } ?? localized(.signalOffline)
        let picture = HTML.tag(
            "svg", [.class("chart"), .init("role", "img"), .init("aria-label", "\(range) \(words)")],
            [
                .tag(
                    "svg",
                    [
                        .init("viewBox", "0 0 \(width) \(height)"), .init("width", "100%"),
                        .init("height", "\(height)"), .init("preserveAspectRatio", "none"),
                    ], curves)
            ] + lines)
        return [picture, .tag("p", [], [.tag("strong", text: words)]), .tag("p", [.class("help")], text: range)]
    }

    func history(_ facts: Facts) -> BrowserResponse {
        let decisions = facts.history?.decisions.reversed() ?? []
        guard !decisions.isEmpty else {
            return page(title: localized(.history), path: "/history", [.tag("p", text: localized(.historyEmpty))])
        }
        let head = HTML.tag(
            "tr", [], [.historyTime, .historyWhat].map { .tag("th", [.init("scope", "col")], text: localized($0)) })
        let rows = decisions.map { decision in
            HTML.tag("tr", [], [.tag("td", [], [time(decision.time)]), .tag("td", [], words(decision))])
        }
        let table = HTML.tag("table", [], [.tag("thead", [], [head]), .tag("tbody", [], Array(rows))])
        return page(title: localized(.history), path: "/history", [table])
    }

    private func words(_ decision: Decision) -> [HTML] {
        let (kind, reason) = (decision.kind.rawValue, decision.reason.rawValue)
        let deed =
            switch (kind, reason) {
            case ("command", MessageType.switchNetwork.rawValue): "switch"
            case ("rescue", "closed"): "closed"
            default: kind
            }
        let name = (decision.to ?? decision.from)?.ssid.description ?? localized(.network)
        guard let text = localized.html(.did, deed, name) else {
            // A kind of a newer device. Its text is English.
            return [.tag("span", [.init("lang", "en")], text: decision.text.printable)]
        }
        var words = [HTML.tag("span", [], text)]
        if let why = localized(.why, reason) { words.append(.tag("span", [.class("detail")], text: why)) }
        if let key = decision.by {
            words.append(.tag("span", [.class("detail")], [.tag("bdi", text: "\(key)")]))
        }
        return words
    }

    func diagnosis(_ isRun: Bool, _ facts: Facts) -> BrowserResponse {
        var content: [HTML] = [.tag("p", text: localized(.diagnosisHelp))]
        if isRun, let steps = facts.diagnosis?.steps {
            content.append(.tag("ul", [.class("steps")], steps.map(line)))
            // The device's findings are English.
            let found = steps.map { HTML.tag("li", text: $0.found.printable) }
            content.append(
                details(localized(.details), [.tag("ul", [.init("lang", "en"), .init("dir", "ltr")], found)]))
        }
        content.append(form("/diagnosis", [.tag("button", text: localized(.diagnosisRun))]))
        return page(title: localized(.diagnosis), path: "/diagnosis", content)
    }

    private func line(_ step: Diagnosis.Step) -> HTML {
        let (mark, result): (String, Phrase) =
            switch step.result {
            case .good: ("✓", .resultGood)
            case .broken: ("✗", .resultBroken)
            case .doubtful: ("!", .resultDoubtful)
            case .skipped: ("–", .resultSkipped)
            }
        let layer = localized(.layer, step.layer.rawValue) ?? step.layer.rawValue
        var text: [HTML] = [
            .tag("span", [.class("sign"), .init("aria-hidden", "true")], text: mark),
            .tag("strong", text: "\(layer): \(localized(result))"),
        ]
        if step.result == .broken || step.result == .doubtful, let fix = localized(.fix, step.layer.rawValue) {
            text.append(.tag("span", [.class("detail")], text: fix))
        }
        return .tag("li", [.class("row \(step.result.rawValue)")], text)
    }
}
