import AgentCore
import AgentModel
import AppProtocol
import DevicePage
import Linux
import Netlink

// Performs the core's orders for the setup access point.
extension DeviceAgent {
    /// Sets the page to open with the setup access point. Call it before the agent begins.
    package func open(_ page: any RescuePage) { rescuePage = page }

    package func browserAsked() { handle(.browserAsked) }

    func askRescueRadio(_ number: UInt64, beside station: Station) {
        guard let rescue = settings.rescue else { return }
        Task {
            let phy = try? await station.radio.phy()
            var own: Phy?
            let interfaces = (try? await station.radio.interfaces()) ?? []
            if let interface = interfaces.first(where: { $0.name == rescue.interface }), interface.phy != phy?.index {
                own = try? await WirelessRadio(interface: rescue.interface) { _ in }.phy()
            }
            handle(.rescue(number, .radio(RescueRadio(station: phy, own: own, rescue.radio))))
        }
    }

    func openRescue(_ number: UInt64, _ order: RescueOrder) {
        guard let rescue = settings.rescue, let point = accessPoint else { return }
        let parts = RescueInterface.Parts(
            name: rescue.interface, controlSocket: settings.controlSocket(of: rescue.interface),
            replyDirectory: settings.socketFolder, point: point, routes: routes, page: rescuePage)
        let interface = RescueInterface(
            order, parts, radio: self[order.station].radio, onProblem: { [log] in log.warning("\($0)") }
        ) { [weak self] report in
            if case .seen(let seen) = report { self?.remember(seen) }
            self?.handle(.rescue(number, report))
        }
        rescueInterface = (number, interface)
        interface.open(after: rescueLeftover)
    }

    /// Keeps these results for the page: no scan is possible while the station's interface is down.
    private func remember(_ seen: [BSS]) {
        guard !seen.isEmpty else { return }
        seenBeforeRescue = seen.adding(seenBeforeRescue)
    }

    func closeRescue(_ number: UInt64) {
        guard let (open, interface) = rescueInterface, open == number else {
            return handle(.rescue(number, .closed))
        }
        rescueInterface = nil
        interface.close()
    }

    func rememberRescue(_ opening: RescueAccessPoint.Opening?) {
        Task {
            do { try await rescueStore.write(opening) } catch {
                log.warning("cannot store why the setup access point is open: \(error)")
            }
        }
    }

    /// Removes the interface that a killed agent has left.
    func removeRescueLeftover() {
        guard let rescue = settings.rescue else { return }
        rescueLeftover = Task { await RescueInterface.removeLeftover(rescue.interface, of: station.radio) }
    }

    /// Access points in range, with earlier results while the station's interface is down.
    func accessPointsInRange() async throws(NetlinkError) -> [BSS] {
        let now = try await station.radio.scanResults()
        return rescueInterface?.interface.hasStationDown == true ? now.adding(seenBeforeRescue) : now
    }

    var accessPoint: DeviceAccessPoint? { DeviceAccessPoint(of: identity.key, named: settings.rescue?.name) }
}

extension [BSS] {
    /// The kernel's limit (cfg80211, `bss_entries_limit`).
    static let mostRemembered = 1000

    /// Appends earlier results for other access points, latest first.
    func adding(_ former: [BSS]) -> [BSS] {
        let known = Set(map(\.bssid))
        let others = former.filter { !known.contains($0.bssid) }.sorted { $0.lastSeen > $1.lastSeen }
        return self + others.prefix(Swift.max(0, Self.mostRemembered - count))
    }
}
