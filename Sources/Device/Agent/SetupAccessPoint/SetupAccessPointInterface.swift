import AddressIO
import AgentCore
import AgentModel
import AppProtocol
import DHCP
import DevicePage
import Glibc
import Linux
import Netlink
import Supplicant

/// Runs the open setup access point: interface, wpa_supplicant, addresses and page. Makes no decisions.
@AgentLoop
final class SetupAccessPointInterface {
    struct Parts {
        let name: String
        let controlSocket: String
        let replyDirectory: String
        let point: SetupAccessPointCredentials
        let routes: RouteMonitor
        let page: AccessPointPage?
    }

    private static let limit = Duration.seconds(8)

    private let parts: Parts
    private let order: SetupAccessPointOrder
    private let radio: WirelessRadio
    private let onReport: (SetupAccessPointReport) -> Void
    private let onProblem: (String) -> Void
    private var supplicant: AccessPointSupplicant?
    private var addresses: AddressServer?
    private var isPageOpen = false
    /// Last step of opening or closing. The next step waits for it.
    private var last: Task<Void, Never>?
    private var hasEnded = false

    /// - Parameters:
    ///   - radio: radio of the station.
    ///   - onProblem: called for problems that do not prevent opening.
    init(
        _ order: SetupAccessPointOrder, _ parts: Parts, radio: WirelessRadio, onProblem: @escaping (String) -> Void,
        onReport: @escaping (SetupAccessPointReport) -> Void
    ) {
        (self.order, self.parts, self.radio) = (order, parts, radio)
        (self.onProblem, self.onReport) = (onProblem, onReport)
    }

    /// - Parameter leftover: task that removes the interface of an earlier agent.
    func open(after leftover: Task<Void, Never>?) {
        last = Task { [self] in
            await leftover?.value
            let point = parts.point
            // The derivation takes some tenths of a second on a small board, so it runs during the other steps.
            let psk = Task.detached { PreSharedKey.derive(from: point.password, ssid: point.ssid) }
            do {
                onReport(.seen(await look()))
                if order.mode == .instead { try await setStation(up: false) }
                if order.mode != .second {
                    await Self.removeLeftover(parts.name, of: radio)
                    try await radio.addAccessPoint(parts.name)
                }
                beginSupplicant(psk: await psk.value)
            } catch {
                fail("\(error)")
            }
        }
    }

    /// Returns the kernel's scan results. Scans if it has none, or if the order wants a full scan.
    private func look() async -> [BSS] {
        if order.look == .quick, let known = try? await radio.scanResults(), !known.isEmpty { return known }
        var request = ScanRequest.full
        if order.look == .quick, let phy = try? await radio.phy() {
            request.frequencies = phy.usableChannels.map(\.frequency).filter { $0.band == .twoPointFour }
        }
        guard case .finished(let seen)? = try? await radio.scan(request, deadline: .seconds(10)) else { return [] }
        return seen
    }

    @discardableResult
    func close() -> Task<Void, Never> {
        hasEnded = true
        let end = Task { [self, last] in
            await last?.value
            await cleanUp()
            onReport(.closed)
        }
        last = end
        return end
    }

    /// Handles the removal of an interface with this name. Before `addresses` is set, an earlier agent had created it.
    func interfaceRemoved() { if addresses != nil { fail("its interface \(parts.name) is gone") } }

    private func fail(_ problem: String) {
        guard !hasEnded else { return }
        hasEnded = true
        Task { [self] in
            await cleanUp()
            onReport(.failed(problem))
        }
    }

    private func beginSupplicant(psk: Secret) {
        guard !hasEnded else { return }
        let point = parts.point
        supplicant = AccessPointSupplicant(
            controlSocket: parts.controlSocket, replyDirectory: parts.replyDirectory,
            AccessPointSupplicant.Configuration(
                ssid: point.ssid, passphrase: point.password, psk: psk, frequency: order.frequency,
                offersWPA3: !radio.joinsByItself), within: Self.limit
        ) { [weak self] in self?.handle($0) }
    }

    private func handle(_ event: AccessPointSupplicant.Event) {
        guard !hasEnded else { return }
        switch event {
        case .opened: last = Task { [self] in await provide() }
        case .ended(let problem): fail(problem)
        case .stations(let count): onReport(.stations(count))
        }
    }

    private func provide() async {
        let index = Int(if_nametoindex(parts.name))
        guard index > 0 else { return fail("its interface \(parts.name) is gone") }
        let others = parts.routes.addresses.compactMap { address -> Subnet? in
            guard address.index != index else { return nil }
            return IPv4Address(bytes: address.bytes).map { Subnet(of: $0, prefixLength: address.prefixLength) }
        }
        guard let own = Subnet.free(besides: others)?.first else { return fail("no subnet of 192.168.0.0/16 is free") }
        do {
            addresses = try AddressServer(
                interface: index,
                settings: DHCPServer.Settings(address: own, portal: parts.page == nil ? nil : "http://\(own)/")
            ) { [weak self] in self?.onProblem($0) }
            isPageOpen = true
            try await parts.page?.open(on: parts.name, address: own)
        } catch {
            return fail("\(error)")
        }
        if !hasEnded { onReport(.opened) }
    }

    private func cleanUp() async {
        if isPageOpen { await parts.page?.close() }
        isPageOpen = false
        addresses?.close()
        addresses = nil
        await supplicant?.close()
        supplicant = nil
        if order.mode != .second { await Self.removeLeftover(parts.name, of: radio) }
        guard order.mode == .instead else { return }
        do { try await setStation(up: true) } catch { onProblem("\(error)") }
    }

    private func setStation(up: Bool) async throws { try await parts.routes.setLink(radio.interface, up: up) }

    /// Removes the agent's interface: one with this name on the station's radio.
    static func removeLeftover(_ name: String, of radio: WirelessRadio) async {
        guard let interfaces = try? await radio.interfaces(),
            let station = interfaces.first(where: { $0.name == radio.interface }),
            let own = interfaces.first(where: { $0.name == name && $0.phy == station.phy })
        else { return }
        try? await radio.removeInterface(own.index)
    }
}

extension SetupAccessPointRadio {
    /// Decides which radio opens the access point, and how.
    /// - Parameters:
    ///   - station: radio of the station.
    ///   - own: radio of the configured interface; nil unless it is another radio.
    /// - Returns: nil if no radio supports an access point.
    init?(station: Phy?, own: Phy?, _ choice: SetupAccessPointRadioChoice) {
        guard let phy = own ?? station, phy.opensAccessPoints else { return nil }
        let beside = phy.channelsBesideAccessPoint
        let place: Mode = own != nil ? .second : choice == .auto && beside != nil ? .beside : .instead
        self.init(mode: place, channels: place == .beside ? beside ?? 1 : 1, usable: phy.accessPointChannels)
    }
}
