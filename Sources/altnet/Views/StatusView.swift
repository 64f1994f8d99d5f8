import AppProtocol

/// The status as a headline and a few facts.
struct StatusView {
    let status: StatusDocument
    let now: Timestamp

    func render(_ style: Style) -> String {
        let facts = facts(style)
        let width = facts.map(\.name.columns).max() ?? 0
        let lines = facts.map { fact in
            let padding = String(repeating: " ", count: width - fact.name.columns)
            return "  " + style.paint(fact.name, .dim) + padding + "  " + fact.value
        }
        return ([headline(style)] + lines).joined(separator: "\n")
    }

    private func headline(_ style: Style) -> String {
        let headline = Wording.headline(status.network)
        let since = Wording.ago(status.network.since, now: now)
        return style.paint(headline.text, headline.paint) + style.paint(" since \(since)", .dim)
    }

    private func facts(_ style: Style) -> [(name: String, value: String)] {
        let network = status.network
        var facts: [(String, String)] = []
        if let signal = network.signal {
            let strength = style.paint(Wording.bars(signal, style), Wording.paint(signal))
            facts.append(("Signal", "\(strength) \(signal) dBm, \(SignalQuality.percent(signal: signal)) %"))
        }
        if let bssid = network.bssid {
            facts.append(("Access point", ["\(bssid)", network.frequency.map(Wording.channel)].joined(", ")))
        }
        if !network.addresses.isEmpty {
            facts.append(("Addresses", network.addresses.map(\.printable).joined(separator: ", ")))
        }
        facts.append(("Uplink", network.uplink.map(Wording.uplink) ?? "none"))
        if network.flags.contains(.switchInProgress) { facts.append(("Switch", "under way")) }
        facts.append(("Backups", "\(status.backups.networks.count) of \(status.backups.max) stored"))
        facts.append(("Device", "\(status.device.deviceId.printable), altnet \(status.device.firmware.printable)"))
        return facts
    }
}

extension [String?] {
    fileprivate func joined(_ separator: String) -> String { compactMap(\.self).joined(separator: separator) }
}
