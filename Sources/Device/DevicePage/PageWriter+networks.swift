import AgentModel
import AppProtocol
import AppServer

extension PageWriter {
    func networks(_ chosen: NetworkChoice?, _ notice: Notice?, _ facts: Facts, at now: Instant) -> BrowserResponse {
        var (content, status, fault) = ([HTML](), 200, nil as Fault?)
        switch notice {
        case .failed(let attempt, let reason):
            content.append(failure(attempt, reason, facts, at: now))
            if reason == ReasonCode(.wrongKey) { fault = .password }
        case .wrong(let phrase, let typed):
            content.append(alert(phrase))
            (status, fault) = (400, phrase == .errorNetwork ? .name(typed) : .password)
        case nil: break
        }
        if visitor.isSignedIn { content += stored(facts) + [.tag("h2", text: localized(.inRange))] }
        let isScanning = facts.isScanning || facts.scan?.isScanning ?? false
        // These have their own rows above.
        let stored = visitor.isSignedIn ? (facts.backups?.networks.map(\.ssid) ?? []) + [facts.network?.ssid] : []
        let offers = NetworkOffer.offers(in: facts.scan?.networks ?? []).filter { !stored.contains($0.choice.ssid) }
        let path = visitor.isSignedIn ? "/networks" : "/"
        let isSearchAlone = isScanning && offers.isEmpty && notice == nil
        var list: [HTML] = []
        if isScanning {
            list.append(
                .tag(
                    "p", [.init("role", "status"), .class("busy")],
                    [
                        Self.spinner,
                        .text(localized(.searching)),
                    ]))
        }
        if isSearchAlone {
            list.append(.tag("noscript", [], [button(.searchAgain, to: path)]))
        } else {
            if facts.scan?.networks.isEmpty ?? true { list.append(.tag("p", text: localized(.noNetworks))) }
            list += visitor.may(.switch) ? [chooser(offers, chosen, fault)] : [listing(offers)]
            list += unusable(offers)
            if visitor.may(.switch) {
                list.append(form("/scan", [.tag("button", [.class("plain")], text: localized(.searchAgain))]))
            }
            if !visitor.isSignedIn { list += naming(facts.network) }
        }
        content.append(live(isScanning ? path : nil, list))
        return page(
            status, title: localized(visitor.isSignedIn ? .networks : .chooseNetwork), path: path,
            refresh: isSearchAlone && !visitor.isSignedIn, content)
    }

    /// The entry that a person must correct.
    private enum Fault: Equatable {
        /// The typed name, if it cannot be a network's.
        case name(String?)
        case password
    }

    /// Number of networks that are shown at once.
    private static let shown = 8

    private func chooser(_ offers: [NetworkOffer], _ selected: NetworkChoice?, _ fault: Fault?) -> HTML {
        let known = offers.filter(\.choice.isJoinable)
        var isOther = selected.map { selected in !known.contains { $0.choice.ssid == selected.ssid } } ?? false
        if case .name(.some) = fault { isOther = true }
        let rows = known.enumerated().map { index, offer in
            row(offer, index, isChosen: !isOther && offer.choice.ssid == selected?.ssid)
        }
        var list: [HTML] = [.tag("legend", text: localized(.choose))]
        list += rows.prefix(Self.shown)
        let rest = Array(rows.dropFirst(Self.shown))
        if !rest.isEmpty {
            let isOpen = known.dropFirst(Self.shown).contains { $0.choice.ssid == selected?.ssid }
            list.append(details(localized(.more, count: rest.count), rest, isOpen: isOpen))
        }
        list.append(other(isOther ? selected : nil, isChosen: isOther, fault))
        var buttons: [HTML] = [.tag("button", [.class("main")], text: localized(.join))]
        if visitor.isSignedIn, visitor.may(.manage) {
            buttons.append(
                .tag("button", [.class("plain"), .init("formaction", "/store")], text: localized(.store)))
        }
        return form(
            "/join", attributes: [.id("join")],
            [
                .tag("fieldset", [], list),
                .tag(
                    "div", [.id("secret")],
                    [.tag("div", [.class("password")], password(isFault: fault == .password))]
                        + [.tag("p", [.class("help")], text: localized(.joinHelp))] + buttons),
            ])
    }

    private func password(isFault: Bool) -> [HTML] {
        var input: [HTML.Attribute] = [
            .id("password"), .name("password"), .type("password"), .init("autocomplete", "off"),
            .init("autocapitalize", "none"), .init("autocorrect", "off"), .init("spellcheck", "false"),
            .init("maxlength", "\(Passphrase.saeLength.upperBound)"),
            .init("aria-describedby", isFault ? "alert" : "passwordHelp"),
        ]
        if isFault { input += Self.faulty }
        return [
            .tag("label", [.init("for", "password")], text: localized(.password)),
            .tag("p", [.id("passwordHelp"), .class("help")], text: localized(.passwordHelp)),
            .tag("input", input),
            .tag(
                "div", [.class("check"), .init("hidden", nil)],
                [
                    .tag("input", [.type("checkbox"), .id("show")]),
                    .tag("label", [.init("for", "show")], text: localized(.showPassword)),
                ]),
        ]
    }

    private static let faulty: [HTML.Attribute] = [.init("aria-invalid", "true"), .init("autofocus", nil)]

    private func row(_ offer: NetworkOffer, _ index: Int, isChosen: Bool) -> HTML {
        let id = "n\(index)"
        var input: [HTML.Attribute] = [
            .type("radio"), .name("network"), .id(id), .value(offer.choice.formValue), .init("required", nil),
        ]
        if isChosen { input.append(.init("checked", nil)) }
        if offer.isOpen {
            input.append(.class("open"))
        } else if offer.choice.security?.minimumPasswordLength == 1 {
            input.append(.init("data-min", "1"))
        }
        return .tag(
            "div", [.class("row")],
            [.tag("input", input), .tag("label", [.init("for", id)], describe(offer))])
    }

    private func describe(_ offer: NetworkOffer) -> [HTML] {
        let security = localized(offer.isOpen ? .open : .secured)
        return [
            .tag("span", [.class("name")], [.tag("bdi", text: offer.choice.ssid.description)]),
            .tag("span", [.class("detail")], text: "\(security), \(localized(.signal, "\(offer.quality)"))"),
            Self.bars(offer.quality),
        ]
    }

    private static func bars(_ quality: Int) -> HTML {
        let bars = (0..<4).map { index in "M\(index * 6) 16v-\(4 + 4 * index)h4V16z" }
        let count = min(max((quality + 24) / 25, 0), 4)
        return .tag(
            "svg", [.class("bars"), .init("viewBox", "0 0 22 16"), .init("aria-hidden", "true")],
            [
                .tag("path", [.init("d", bars.dropFirst(count).joined())]),
                .tag("path", [.class("on"), .init("d", bars.prefix(count).joined())]),
            ])
    }

    private func other(_ choice: NetworkChoice?, isChosen: Bool, _ fault: Fault?) -> HTML {
        let input: [HTML.Attribute] = [
            .type("radio"), .name("network"), .id("other"), .value(Site.otherNetwork), .init("required", nil),
        ]
        var (typed, attributes) = (choice?.ssid.text ?? "", [HTML.Attribute]())
        if case .name(let text?) = fault {
            typed = text
            attributes = [.init("aria-describedby", "alert")] + Self.faulty
        }
        let isOpen = choice?.security?.isOpenToAll ?? false
        return .tag(
            "div", [.class("row")],
            [
                .tag("input", input + (isChosen ? [.init("checked", nil)] : [])),
                .tag("label", [.init("for", "other")], text: localized(.otherNetwork)),
                .tag(
                    "div", [.class("typed")],
                    [
                        .tag("label", [.init("for", "name")], text: localized(.otherName)),
                        .tag(
                            "input",
                            [
                                .id("name"), .name("name"), .init("maxlength", "32"), .init("autocomplete", "off"),
                                .init("autocapitalize", "none"), .init("spellcheck", "false"), .init("dir", "auto"),
                                .value(typed),
                            ] + attributes),
                        .tag(
                            "div", [.class("check")],
                            [
                                .tag(
                                    "input",
                                    [.type("checkbox"), .id("open"), .name("open"), .value("1")]
                                        + (isOpen ? [.init("checked", nil)] : [])),
                                .tag("label", [.init("for", "open")], text: localized(.otherOpen)),
                            ]),
                    ]),
            ])
    }

    /// Returns the list of networks for a user without the role `switch`.
    private func listing(_ offers: [NetworkOffer]) -> HTML {
        .tag("ul", [], offers.filter(\.choice.isJoinable).map { .tag("li", [.class("row")], describe($0)) })
    }

    private func unusable(_ offers: [NetworkOffer]) -> [HTML] {
        let names = offers.filter { !$0.choice.isJoinable }
        guard !names.isEmpty else { return [] }
        return [
            .tag("p", text: localized(.cannotJoin)),
            .tag("ul", [], names.map { .tag("li", [], [.tag("bdi", text: $0.choice.ssid.description)]) }),
        ]
    }
}

struct NetworkOffer: Sendable, Equatable {
    let choice: NetworkChoice
    /// Quality of the network's strongest access point, 0 to 100.
    let quality: Int

    /// Whether the network has no password.
    var isOpen: Bool { choice.security?.isOpenToAll ?? false }

    /// Maximum number of networks on a page.
    static let maximum = 40

    /// Returns the networks, strongest first. A name appears once with a password and once without. Hidden networks
    /// are omitted: the user types their names.
    static func offers(in scan: [ScannedNetwork]) -> [NetworkOffer] {
        struct Kind: Hashable {
            let ssid: SSID
            let isOpen: Bool
        }
        var seen: Set<Kind> = []
        func rank(_ network: ScannedNetwork) -> (Int, Int) { (network.security.isJoinable ? 1 : 0, network.signal) }
        // Access points that the device cannot join come last, so that a name with others is offered.
        let all = scan.sorted { rank($0) > rank($1) }.compactMap { network -> NetworkOffer? in
            guard let ssid = network.ssid else { return nil }
            let choice = NetworkChoice(ssid: ssid, security: network.security)
            let offer = NetworkOffer(choice: choice, quality: network.quality)
            return seen.insert(Kind(ssid: ssid, isOpen: offer.isOpen)).inserted ? offer : nil
        }
        return Array(all.prefix(maximum))
    }
}

extension NetworkChoice {
    var isJoinable: Bool { security?.isJoinable ?? true }
}
