import AgentModel
import AppProtocol
import AppServer

extension PageWriter {
    func networks(_ chosen: NetworkChoice?, _ notice: Notice?, _ facts: Facts) -> BrowserResponse {
        var (content, selected, status) = ([HTML](), chosen, 200)
        switch notice {
        case .failed(let choice, let reason):
            content.append(
                alert(
                    localized(.failure, choice.ssid.description), [localized(Phrase(reason)), localized(.failureBack)]))
            selected = choice
        case .wrong(let phrase):
            content.append(alert(localized(phrase), []))
            status = 400
        case nil: break
        }
        if visitor.isSignedIn { content += stored(facts) }
        let offers = NetworkOffer.offers(in: facts.scan?.networks ?? [])
        let isScanning = facts.isScanning || facts.scan?.isScanning ?? false
        if visitor.isSignedIn { content.append(.tag("h2", text: localized(.inRange))) }
        content += visitor.may(.switch) ? [chooser(offers, selected)] : [listing(offers)]
        content += unusable(offers)
        if isScanning { content.append(.tag("p", [.init("role", "status")], text: localized(.searching))) }
        if visitor.may(.switch) {
            content.append(form("/scan", [.tag("button", [.class("plain")], text: localized(.searchAgain))]))
        }
        if !visitor.isSignedIn { content += naming(facts.network) }
        let path = visitor.isSignedIn ? "/networks" : "/"
        // Stops refreshing once the user may have filled in the form.
        let isUntouched = isScanning && offers.isEmpty
        return page(
            status, title: localized(visitor.isSignedIn ? .networks : .chooseNetwork), path: path,
            refresh: isUntouched ? (3, path) : nil, content)
    }

    private func chooser(_ offers: [NetworkOffer], _ selected: NetworkChoice?) -> HTML {
        let known = offers.filter(\.choice.isJoinable)
        let isOther = selected.map { selected in !known.contains { $0.choice.ssid == selected.ssid } } ?? known.isEmpty
        var rows = known.enumerated().map { index, offer in
            row(offer, index, isChosen: !isOther && offer.choice.ssid == selected?.ssid)
        }
        rows.append(other(isOther ? selected : nil, isChosen: isOther))
        var list: [HTML] = [.tag("legend", text: localized(.choose))]
        if known.isEmpty { list.append(.tag("p", text: localized(.noNetworks))) }
        let password: [HTML] = [
            .tag("label", [.init("for", "password")], text: localized(.password)),
            .tag("p", [.id("passwordHelp"), .class("help")], text: localized(.passwordHelp)),
            .tag(
                "input",
                [
                    .id("password"), .name("password"), .type("password"), .init("autocomplete", "off"),
                    .init("autocapitalize", "none"), .init("autocorrect", "off"), .init("spellcheck", "false"),
                    .init("maxlength", "128"), .init("aria-describedby", "passwordHelp"),
                ]),
            .tag(
                "div", [.class("scripted"), .init("hidden", nil)],
                [
                    .tag("input", [.type("checkbox"), .id("show")]),
                    .tag("label", [.init("for", "show")], text: localized(.showPassword)),
                ]),
        ]
        return form(
            "/join",
            [.tag("fieldset", [.class("networks")], list + rows)] + password
                + [.tag("button", [.class("main")], text: localized(.join))])
    }

    private func row(_ offer: NetworkOffer, _ index: Int, isChosen: Bool) -> HTML {
        let id = "n\(index)"
        let input: [HTML.Attribute] = [
            .type("radio"), .name("network"), .id(id), .value(offer.choice.formValue), .init("required", nil),
        ]
        return .tag(
            "div", [.class("network")],
            [
                .tag("input", input + (isChosen ? [.init("checked", nil)] : [])),
                .tag("label", [.init("for", id)], describe(offer)),
            ])
    }

    private func describe(_ offer: NetworkOffer) -> [HTML] {
        let security = localized(offer.choice.security?.isOpenToAll ?? false ? .open : .secured)
        return [
            .tag("span", [.class("name"), .init("dir", "auto")], text: offer.choice.ssid.description),
            .tag("span", [.class("detail")], text: "\(security), \(localized(.signal, "\(offer.quality)"))"),
            Self.bars(offer.quality),
        ]
    }

    private static func bars(_ quality: Int) -> HTML {
        let bars = (0..<4).map { index in
            let height = 4 + 4 * index
            return HTML.tag(
                "rect",
                [
                    .class(quality > index * 25 ? "on" : "off"), .init("x", "\(index * 6)"),
                    .init("y", "\(16 - height)"),
                    .init("width", "4"), .init("height", "\(height)"),
                ])
        }
        return .tag(
            "svg", [.class("bars"), .init("viewBox", "0 0 22 16"), .init("aria-hidden", "true")], bars)
    }

    private func other(_ choice: NetworkChoice?, isChosen: Bool) -> HTML {
        let input: [HTML.Attribute] = [
            .type("radio"), .name("network"), .id("other"), .value(Site.otherNetwork), .init("required", nil),
        ]
        return .tag(
            "div", [.class("network other")],
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
                                .init("autocapitalize", "none"), .init("spellcheck", "false"),
                                .value(choice?.ssid.text ?? ""),
                            ]),
                        .tag(
                            "div", [.class("check")],
                            [
                                .tag("input", [.type("checkbox"), .id("open"), .name("open"), .value("1")]),
                                .tag("label", [.init("for", "open")], text: localized(.otherOpen)),
                            ]),
                    ]),
            ])
    }

    /// Returns the list of networks for a user without the role `switch`.
    private func listing(_ offers: [NetworkOffer]) -> HTML {
        .tag("ul", [.class("networks")], offers.filter(\.choice.isJoinable).map { .tag("li", [], describe($0)) })
    }

    private func unusable(_ offers: [NetworkOffer]) -> [HTML] {
        let names = offers.filter { !$0.choice.isJoinable }
        guard !names.isEmpty else { return [] }
        return [
            .tag("p", text: localized(.cannotJoin)),
            .tag("ul", [], names.map { .tag("li", [.init("dir", "auto")], text: $0.choice.ssid.description) }),
        ]
    }

    private func stored(_ facts: Facts) -> [HTML] {
        let list = facts.backups
        var seen: Set<NetworkHash> = []
        let networks = (list?.stored ?? []).filter { seen.insert($0.hash).inserted }
        let rows = networks.map { network -> HTML in
            var row: [HTML] = [
                .tag("span", [.class("name"), .init("dir", "auto")], text: network.ssid.description)
            ]
            if network.hash == facts.network?.hash {
                row.append(.tag("span", [.class("detail")], text: localized(.current)))
            } else if visitor.may(.switch) {
                let name = network.ssid.description
                row.append(
                    form(
                        "/move",
                        [
                            .tag(
                                "input",
                                [.type("hidden"), .name("hash"), .value(networkNames.name(of: network.hash).base64)]),
                            .tag("input", [.type("hidden"), .name("ssid"), .value(network.ssid.hex)]),
                            .tag("button", [.init("aria-label", localized(.moveThere, name))], text: localized(.join)),
                        ]))
            }
            return .tag("li", [], row)
        }
        return [
            .tag("h2", text: localized(.storedNetworks)),
            rows.isEmpty ? .tag("p", text: localized(.noStored)) : .tag("ul", [.class("stored")], rows),
        ]
    }
}

struct NetworkOffer: Sendable, Equatable {
    let choice: NetworkChoice
    /// Quality of the network's strongest access point, 0 to 100.
    let quality: Int

    /// Maximum number of networks on a page.
    static let maximum = 40

    /// Returns the networks, strongest first. Hidden networks are omitted: the user types their names.
    static func offers(in scan: [ScannedNetwork]) -> [NetworkOffer] {
        var seen: Set<NetworkChoice> = []
        let all = scan.sorted { $0.signal > $1.signal }.compactMap { network -> NetworkOffer? in
            guard let ssid = network.ssid else { return nil }
            let choice = NetworkChoice(ssid: ssid, security: network.security)
            return seen.insert(choice).inserted ? NetworkOffer(choice: choice, quality: network.quality) : nil
        }
        return Array(all.prefix(maximum))
    }
}

extension NetworkChoice {
    var isJoinable: Bool { security?.isJoinable ?? true }
}
