import AgentCore
import AgentModel
import AppProtocol
import DevicePage
import Netlink

// Performs the core's effects for the setup access point.
extension DeviceAgent {
    /// Sets the page to open with the setup access point. Call this before the agent begins.
    package func open(_ page: AccessPointPage) { setupAccessPointPage = page }

    package func browserAsked() { handle(.browserAsked) }

    func askSetupAccessPointRadio(_ number: UInt64, beside station: Station) {
        guard let setupAccessPoint = settings.setupAccessPoint else { return }
        Task {
            let phy = try? await station.radio.phy()
            var own: Phy?
            let interfaces = (try? await station.radio.interfaces()) ?? []
            if let interface = interfaces.first(where: { $0.name == setupAccessPoint.interface }),
                interface.phy != phy?.index
            {
                own = try? await WirelessRadio(interface: setupAccessPoint.interface) { _ in }.phy()
            }
            handle(
                .setupAccessPoint(number, .radio(SetupAccessPointRadio(station: phy, own: own, setupAccessPoint.radio)))
            )
        }
    }

    func openSetupAccessPoint(_ number: UInt64, _ order: SetupAccessPointOrder) {
        guard let setupAccessPoint = settings.setupAccessPoint, let point = accessPoint else { return }
        let parts = SetupAccessPointInterface.Parts(
            name: setupAccessPoint.interface, controlSocket: settings.controlSocket(of: setupAccessPoint.interface),
            replyDirectory: settings.socketFolder, point: point, routes: routes, page: setupAccessPointPage)
        let interface = SetupAccessPointInterface(
            order, parts, radio: self[order.station].radio, onProblem: { [log] in log.warning("\($0)") }
        ) { [weak self] report in
            if case .seen(let seen) = report { self?.remember(seen) }
            self?.handle(.setupAccessPoint(number, report))
        }
        setupAccessPointInterface = (number, interface)
        interface.open(after: setupAccessPointLeftover)
    }

    /// Keeps these results for the page, because often nothing scans while the access point is open.
    private func remember(_ seen: [BSS]) {
        guard !seen.isEmpty else { return }
        seenBeforeSetupAccessPoint = seen.adding(seenBeforeSetupAccessPoint)
    }

    func closeSetupAccessPoint(_ number: UInt64) {
        guard let (open, interface) = setupAccessPointInterface, open == number else {
            return handle(.setupAccessPoint(number, .closed))
        }
        setupAccessPointInterface = nil
        interface.close()
    }

    func rememberSetupAccessPoint(_ opening: SetupAccessPoint.Opening?) {
        Task {
            do { try await setupAccessPointStore.write(opening) } catch {
                log.warning("cannot store the reason for the open setup access point: \(error)")
            }
        }
    }

    /// Removes the interface that a killed agent has left.
    func removeSetupAccessPointLeftover() {
        guard let setupAccessPoint = settings.setupAccessPoint else { return }
        setupAccessPointLeftover = Task {
            await SetupAccessPointInterface.removeLeftover(setupAccessPoint.interface, of: station.radio)
        }
    }

    /// Returns the access points in range. Adds earlier results while the setup access point is open.
    func accessPointsInRange() async throws(NetlinkError) -> [BSS] {
        let now = try await station.radio.scanResults()
        return setupAccessPointInterface == nil ? now : now.adding(seenBeforeSetupAccessPoint)
    }

    var accessPoint: SetupAccessPointCredentials? {
        SetupAccessPointCredentials(of: identity.key, named: settings.setupAccessPoint?.name)
    }
}

extension [BSS] {
    /// Maximum number of access points, equal to the kernel's limit (cfg80211, `bss_entries_limit`).
    static let mostRemembered = 1000

    /// Appends earlier results for other access points, latest first.
    func adding(_ former: [BSS]) -> [BSS] {
        let known = Set(map(\.bssid))
        let others = former.filter { !known.contains($0.bssid) }.sorted { $0.lastSeen > $1.lastSeen }
        return self + others.prefix(Swift.max(0, Self.mostRemembered - count))
    }
}
