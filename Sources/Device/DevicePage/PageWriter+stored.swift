import AgentModel
import AppProtocol

// The stored networks, and what their owner can change about them.
extension PageWriter {
    func stored(_ facts: Facts) -> [HTML] {
        let backups = facts.backups?.networks ?? []
        var seen = Set(backups.map(\.hash))
        let others = (facts.backups?.stored ?? []).filter { seen.insert($0.hash).inserted }
        let rows =
            others.map { row($0, at: nil, of: backups.count, facts) }
            + backups.enumerated().map { row($1, at: $0, of: backups.count, facts) }
        return [
            .tag("h2", text: localized(.storedNetworks)),
            rows.isEmpty ? .tag("p", text: localized(.noStored)) : .tag("ul", [], rows),
        ]
    }

    /// - Parameter place: position in the list of backups; nil for the home network outside of it.
    private func row(_ network: BackupNetwork, at place: Int?, of count: Int, _ facts: Facts) -> HTML {
        let name = network.ssid.description
        var row: [HTML] = [.tag("span", [.class("name")], [.tag("bdi", text: name)])]
        let isCurrent = network.hash == facts.network?.hash
        let notes = [
            isCurrent ? localized(.current) : nil,
            network.hash == facts.backups?.preferred?.hash ? localized(.preferred) : nil,
            network.lastFailure.flatMap { localized(.why, $0.rawValue) },
        ]
        let text = notes.compactMap(\.self).joined(separator: ", ")
        if !text.isEmpty { row.append(.tag("span", [.class("detail")], text: text)) }
        var actions: [HTML] = []
        if !isCurrent, visitor.may(.switch) {
            actions.append(
                form(
                    "/move",
                    [
                        hash(network), .tag("input", [.type("hidden"), .name("ssid"), .value(network.ssid.hex)]),
                        .tag("button", [.init("aria-label", localized(.moveThere, name))], text: localized(.join)),
                    ]))
        }
        if let place, visitor.may(.manage) {
            if place > 0 { actions.append(edit(network, "up", "↑", localized(.up, name))) }
            if place < count - 1 { actions.append(edit(network, "down", "↓", localized(.down, name))) }
        }
        if !actions.isEmpty { row.append(.tag("div", [.class("actions")], actions)) }
        if place != nil, visitor.may(.manage) { row.append(details(localized(.options), options(of: network))) }
        return .tag("li", [.class("row")], row)
    }

    private func hash(_ network: BackupNetwork) -> HTML {
        .tag("input", [.type("hidden"), .name("hash"), .value(networkNames.name(of: network.hash).base64)])
    }

    private func edit(_ network: BackupNetwork, _ deed: String, _ text: String, _ label: String? = nil) -> HTML {
        let button: [HTML.Attribute] = [.class("plain"), .name("do"), .value(deed)]
        return form(
            "/backups",
            [
                hash(network),
                .tag("button", button + (label.map { [.init("aria-label", $0)] } ?? []), text: text),
            ])
    }

    private func options(of network: BackupNetwork) -> [HTML] {
        let (options, flags) = (network.options, [("no", localized(.no)), ("yes", localized(.yes))])
        func word(_ flag: Bool) -> String { flag ? "yes" : "no" }
        var choices = [
            select(.optionManual, "manual", flags, word(options.isManual)),
            select(
                .metered, "metered", [("", localized(.automatic))] + flags, options.isMetered.map(word) ?? ""),
            select(
                .optionBand, "band",
                [("", localized(.automatic))] + Band.allCases.map { ($0.rawValue, $0.rawValue) },
                options.band?.rawValue ?? ""),
            .tag(
                "label", [],
                [
                    .text(localized(.optionAccessPoint)),
                    .tag(
                        "input",
                        [
                            .name("bssid"), .value(options.bssid.map { "\($0)" } ?? ""), .init("dir", "ltr"),
                            .init("pattern", "[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}"), .init("maxlength", "17"),
                            .init("autocomplete", "off"),
                        ]),
                ]),
        ]
        if network.security.usesPassphrase {
            choices.append(select(.optionTKIP, "tkip", flags, word(options.allowsTKIP)))
        }
        choices.append(
            .tag("button", [.class("plain"), .name("do"), .value("options")], text: localized(.save)))
        var forms = [form("/backups", [hash(network)] + choices)]
        if network.security.usesPassphrase {
            let choice = NetworkChoice(ssid: network.ssid, security: network.security)
            forms.append(
                form(
                    "/store",
                    [
                        .tag("input", [.type("hidden"), .name("network"), .value(choice.formValue)]),
                        .tag(
                            "label", [],
                            [
                                .text(localized(.newPassword)),
                                .tag(
                                    "input",
                                    [
                                        .type("password"), .name("password"), .init("required", nil),
                                        .init("minlength", "\(network.security.minimumPasswordLength)"),
                                        .init("maxlength", "\(Passphrase.saeLength.upperBound)"),
                                        .init("autocomplete", "off"),
                                    ]),
                            ]),
                        .tag("button", [.class("plain")], text: localized(.save)),
                    ]))
        }
        return forms + [edit(network, "remove", localized(.remove))]
    }

    private func select(_ label: Phrase, _ name: String, _ choices: [(String, String)], _ chosen: String) -> HTML {
        let options = choices.map { value, text in
            HTML.tag("option", [.value(value)] + (value == chosen ? [.init("selected", nil)] : []), text: text)
        }
        return .tag("label", [], [.text(localized(label)), .tag("select", [.name(name)], options)])
    }
}
