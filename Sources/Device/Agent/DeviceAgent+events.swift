import AgentCore
import AgentModel
import Linux
import Logging

/// Queues events of the kernel, wpa_supplicant and the address clients until the agent begins.
@AgentLoop
final class EventQueue {
    private var waiting: [AgentEvent] = []
    private var reader: ((AgentEvent) -> Void)?

    func put(_ event: AgentEvent) {
        if let reader { reader(event) } else { waiting.append(event) }
    }

    func deliver(to reader: @escaping (AgentEvent) -> Void) {
        self.reader = reader
        let waiting = waiting
        self.waiting = []
        for event in waiting { reader(event) }
    }
}

extension DeviceAgent {
    /// Performs the device's part of an event, then passes the event to the core.
    func receive(_ event: AgentEvent) {
        log.trace("received: \(event)")
        switch event {
        case .radio(let station, .interfaceAdded), .radio(let station, .supported): restoreRadio(of: self[station])
        case .radio(let station, .interfaceRemoved): self[station].supplicant.interfaceRemoved()
        // A driver registers with nl80211 before its interface appears, so look for the interface again.
        case .route(.linkChanged):
            forEachStation { $0.radio.look() }
            findRadios()
        case .route(.linkRemoved(let link)) where link.name == settings.setupAccessPoint?.interface:
            setupAccessPointInterface?.interface.interfaceRemoved()
        case .supplicant(_, .certificateRefused(let reason)): log.warning("leaving the network: \(reason)")
        case .supplicant(let station, .easyConnect(let event)): handle(event, of: self[station])
        default: break
        }
        handle(event)
        if case .route = event { followModems() }
    }

    func followModems() {
        let cellular = routes.links.values.filter { $0.kind == .cellular && $0.isUp }
        // Only a modem's interface needs the addresses.
        let addresses = cellular.isEmpty ? [] : routes.addresses
        modems?.follow(
            Dictionary(
                cellular.map { link in (link.name, Set(addresses.filter { $0.index == link.index }.map(\.text))) },
                uniquingKeysWith: { first, _ in first }))
    }

    /// Ignores the routes of modems that are not connected.
    func modemsChanged() {
        routes.setDisconnected(modems?.disconnected ?? [])
        handle(.modemChanged)
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
