import AgentCore
import AgentModel
import Linux
import Logging
import Netlink
import Supplicant

// Converts reports of the device's parts to the core's events.
extension DeviceAgent {
    func handle(_ observation: Observation) {
        log.trace("observed: \(observation)")
        switch observation {
        case .radio(let event, let interface): handle(event, of: self[StationID(interface)])
        case .route(let event): handle(event)
        case .supplicant(let event, let interface): handle(event, of: self[StationID(interface)])
        case .address(let report, let interface): handle(.address(StationID(interface), report))
        }
    }

    private func handle(_ event: RadioEvent, of station: Station) {
        let report: RadioReport
        switch event {
        case .scanStarted: report = .scanStarted
        case .scanFinished(let isAborted, let frequencies):
            report = .scanFinished(aborted: isAborted, frequencies: frequencies)
        case .signalLow(let level): return handle(.signalCrossed(station.id, level: level, isBelow: true))
        case .signalHigh(let level): return handle(.signalCrossed(station.id, level: level, isBelow: false))
        case .disconnected: report = .disconnected
        case .channelChanged(let frequency): report = .channelChanged(frequency)
        case .interfaceAdded, .supported:
            restoreRadio(of: station)
            report = .appeared
        case .interfaceRemoved:
            station.supplicant.interfaceRemoved()
            report = .removed
        case .resynchronise: report = .resynchronise
        case .beaconLoss, .packetLoss, .connected, .connectionFailed, .regulatoryChanged: return
        }
        handle(.radio(station.id, report))
    }

    private func handle(_ event: RouteEvent) {
        // A driver registers with nl80211 before its interface appears.
        if case .linkChanged = event { forEachStation { $0.radio.look() } }
        if case .linkRemoved(let link) = event, link.name == settings.setupAccessPoint?.interface {
            setupAccessPointInterface?.interface.interfaceRemoved()
        }
        let report: RouteReport =
            switch event {
            case .linkChanged(let link): .linkChanged(link.name, isUp: link.isUp)
            case .linkRemoved(let link): .linkRemoved(link.name)
            case .addressAdded(let address): .addressAdded(station(of: address)?.id, LinkAddress(address))
            case .addressRemoved(let address): .addressRemoved(station(of: address)?.id, LinkAddress(address))
            case .defaultRouteAdded, .defaultRouteRemoved, .uplinkChanged, .resynchronise: .other
            }
        handle(.route(report))
        followModems()
    }

    func followModems() {
        let cellular = routes.links.values.filter { $0.kind == .cellular && $0.isUp }
        // Reading addresses is only worthwhile with a modem.
        let addresses = cellular.isEmpty ? [] : routes.addresses
        modems?.follow(
            Dictionary(
                cellular.map { link in (link.name, Set(addresses.filter { $0.index == link.index }.map(\.text))) },
                uniquingKeysWith: { first, _ in first }))
    }

    /// Ignores the routes of modems that are not connected.
    func modemsChanged() {
        routes.setDisconnected(modems?.disconnected ?? [])
        handle(.route(.other))
    }

    private func handle(_ event: SupplicantEvent, of station: Station) {
        let report: SupplicantReport
        switch event {
        case .available: report = .available
        case .unavailable: report = .unavailable
        case .connected(let attempt, let bssid): report = .connected(attempt: attempt, bssid)
        case .transitionDisabled(let disabled): report = .transitionDisabled(disabled)
        case .disassociationImminent(let time): report = .disassociationImminent(within: time)
        case .transitionRequested: report = .transitionRequested
        case .neighbour(let bssid, let frequency): report = .neighbour(bssid, frequency)
        case .disconnected(let reason, let isOwn): report = .disconnected(reason: reason, locallyGenerated: isOwn)
        case .certificateRefused(let reason):
            return log.warning("leaving the network: \(reason)")
        case .easyConnect(let news): return handle(news, of: station)
        case .joinFailed(let attempt, let failure, let detail):
            report = .joinFailed(attempt: attempt, failure, detail: detail)
        }
        handle(.supplicant(station.id, report))
    }
}

extension Logger.Level {
    init(_ level: LogLevel) {
        switch level {
        case .debug: self = .debug
        case .info: self = .info
        case .notice: self = .notice
        case .warning: self = .warning
        case .error: self = .error
        }
    }
}
