import AgentModel
import AppProtocol
import Failover
import Terminal

struct WatchScreen {
    struct Size: Sendable, Equatable {
        let columns: Int
        let rows: Int
    }

    let state: WatchState
    let now: Instant
    let time: Timestamp
    let size: Size
    let style: Style

    /// - Returns: at most `size.rows` lines of at most `size.columns` columns.
    func lines() -> [String] {
        let head = [header, headline] + [trouble, beyond, change].compactMap(\.self)
        var room = size.rows - head.count
        let legend = legend
        var chart: [String] = []
        // Leave a third of the rows for events, at least three.
        let height = room - legend.count - max(3, room / 3)
        if size.columns >= SignalChart.minimumWidth, height >= SignalChart.minimumHeight {
            chart =
                SignalChart(
                    state: state, now: now, thresholds: PolicySettings().thresholds(for: state.status?.frequency),
                    width: size.columns, height: height, isUnicode: style.isUnicode
                ).lines(style) + legend
        }
        room -= chart.count
        let happenings = state.happenings.suffix(max(0, room - 1)).map(line)
        let separated = happenings.isEmpty ? [] : [""] + happenings
        return Array((head + chart + separated).prefix(size.rows))
    }

    // MARK: Layout

    private var header: String {
        let name = state.status?.deviceName?.description ?? state.device?.deviceId.printable
        let device = name.map { "  \(shown($0))" } ?? ""
        return line(
            left: [("altnet watch", .bold), (device, nil)], right: ("\(LocalTime.clock(time))  q quits", .dim))
    }

    private var headline: String {
        guard let status = state.status else { return line(left: [("Asking the device...", .dim)]) }
        let headline = DisplayText.headline(status)
        let age = Age.duration(milliseconds: time.millisecondsSince1970 - status.since.millisecondsSince1970)
        var parts: [(String, Style.Paint?)] = [
            (shown(headline.text), headline.paint), (age.map { " for \($0)" } ?? "", .dim),
        ]
        if state.connection != .connected {
            parts = [("Last known: \(shown(headline.text))", .dim)]
        } else if let signal = status.state == .offline ? nil : state.link.samples.last?.signal {
            parts += [
                ("  ", nil), (DisplayText.bars(signal, style), DisplayText.paint(signal)), (" \(signal) dBm", nil),
            ]
        }
        if let uplink = status.uplink, uplink != .wifi {
            parts.append(("  online over \(shown(DisplayText.uplink(uplink, of: status)))", nil))
        }
        return line(left: parts)
    }

    private var trouble: String? {
        guard case .lost(let since, let reason) = state.connection else { return nil }
        let age = Age.duration(milliseconds: (now - since).milliseconds).map { " for \($0)" } ?? ""
        return line(left: [("No connection\(age), trying again: ", .red), (shown(reason.printable), nil)])
    }

    /// Internet access and targets; nil without a connection to the device, or if the device checks neither.
    private var beyond: String? {
        guard state.connection == .connected, let status = state.status else { return nil }
        let parts = ConnectivityDisplayText.beyond(status, now: time).map { (shown($0.text), $0.paint) }
        guard !parts.isEmpty else { return nil }
        return line(left: Array(parts.map { [$0] }.joined(separator: [("; ", nil)])))
    }

    private var change: String? {
        state.change.map { change in
            line(left: [
                ("Switch \(shown(change.switchId.printable)): ", .yellow), (DisplayText.phase(change.phase), nil),
            ])
        }
    }

    /// At most two lines with the letter and the last signal of each network.
    private var legend: [String] {
        let items = state.letters.sorted { $0.value < $1.value }.map { ssid, letter in
            let name = "\(letter) \(shown(ssid.description))".fitted(to: 24, ellipsis: style.ellipsis)
            if ssid == state.status?.ssid, let signal = state.link.samples.last?.signal { return "\(name) \(signal)" }
            guard let last = state.candidates[ssid]?.samples.last else { return name }
            return "\(name) \(last.signal)"
        }
        var lines: [String] = []
        for item in items.map({ $0.fitted(to: size.columns, ellipsis: style.ellipsis) }) {
            if let last = lines.last, last.columns + 3 + item.columns <= size.columns {
                lines[lines.count - 1] = "\(last)   \(item)"
            } else if lines.count == 2 {
                break
            } else {
                lines.append(item)
            }
        }
        return lines
    }

    private func line(_ happening: WatchState.Happening) -> String {
        line(left: [(LocalTime.clock(happening.time) + "  ", .dim), (shown(happening.text), happening.paint)])
    }

    // MARK: Fitting

    /// Returns one line. Cuts the left parts at the end of the line. Omits the right part if it does not fit.
    private func line(left: [(text: String, paint: Style.Paint?)], right: (text: String, paint: Style.Paint)? = nil)
        -> String
    {
        var room = size.columns
        var line = ""
        for part in left where room > 0 {
            let text = part.text.fitted(to: room, ellipsis: style.ellipsis)
            line += style.paint(text, part.paint)
            room -= text.columns
        }
        if let right, room >= right.text.columns + 2 {
            line += String(repeating: " ", count: room - right.text.columns) + style.paint(right.text, right.paint)
        }
        return line
    }

    private func shown(_ text: String) -> String { style.isUnicode ? text : text.ascii }
}
