import AppProtocol

/// An event as one line.
struct EventView {
    let event: Event

    func render(_ style: Style) -> String {
        let time = style.paint(LocalTime.clock(event.time), .dim)
        return "\(time)  \(Self.sentence(event.body, style))"
    }

    /// Where the device is when watching begins.
    static func status(_ status: NetworkStatus, _ style: Style) -> String {
        let time = style.paint(LocalTime.clock(.now), .dim)
        return "\(time)  \(network(status, style))"
    }

    private static func sentence(_ body: Event.Body, _ style: Style) -> String {
        switch body {
        case .networkChanged(let status): return network(status, style)
        case .signal(let reading):
            return "signal    \(strength(reading.signal, style))"
        case .scanFinished(let scan):
            return "scan      \(scan.outcome.rawValue), \(scan.networks) networks in range"
        case .backupsChanged(let list):
            return "backups   \(list.networks.count) of \(list.max) stored"
        case .switchProgress(let status):
            let reason = status.text.map { ": \($0.printable)" } ?? ""
            return "switch    \(Wording.phase(status.phase))\(reason)"
        case .decision(let decision):
            return "decision  " + style.heading(DecisionView.move(decision, style)) + "  \(decision.text.printable)"
        case .targetChanged(let target):
            let standing = ConnectivityWording.target(target, now: nil)
            return "target    " + style.paint(standing.text, standing.paint)
        case .portalRequest(let request):
            return "sign-in   " + style.paint(ConnectivityWording.request(request), .yellow)
        case .portalEnded:
            return "sign-in   nothing is asked any more"
        case .gap(let gap):
            return style.paint("gap       \(Wording.gap(gap))", .yellow)
        }
    }

    private static func network(_ status: NetworkStatus, _ style: Style) -> String {
        let name = status.ssid?.description ?? "a network"
        switch status.state {
        case .offline:
            let uplink = status.uplink.map { ", connected over \(Wording.uplink($0, over: status.carrier))" } ?? ""
            return "network   " + style.paint("offline", .red) + uplink
        case .joining: return "network   " + style.paint("joining \(name)", .yellow)
        case .waitingForAddress: return "network   " + style.paint("waiting for an address on \(name)", .yellow)
        case .online:
            let signal = status.signal.map { "  \(strength($0, style))" } ?? ""
            return "network   " + style.paint("online on \(name)", .green) + signal
        }
    }

    private static func strength(_ signal: Int, _ style: Style) -> String {
        style.paint(Wording.bars(signal, style), Wording.paint(signal)) + " \(signal) dBm"
    }
}
