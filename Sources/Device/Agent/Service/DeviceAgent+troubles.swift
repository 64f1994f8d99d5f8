import AgentModel
import Glibc
import Linux

extension DeviceAgent {
    private var trouble: Trouble? {
        guard radio.isSupported else { return .noWiFi }
        if routes.link(named: station.interface) == nil {
            return .noInterface(station.interface, others: Self.wirelessInterfaces)
        }
        guard !isSupplicantAvailable else { return nil }
        return .noSupplicant(
            .init(socket: station.controlSocket), interface: station.interface, socket: station.controlSocket)
    }

    /// Says once what the agent waits for, and once that it is there.
    func reviewTroubles() {
        let isThere = radio.isSupported && routes.link(named: station.interface) != nil
        guard !isThere || !isSupplicantAvailable || troubles.told != nil || troubles.waiting != nil else { return }
        let trouble = trouble
        if let told = troubles.told {
            guard trouble.map(told.isSame) != true else { return }
            if told.isOver(given: trouble) { log.notice("\(told.relief)") }
            troubles.told = nil
        }
        guard let trouble else {
            (troubles.waiting, troubles.patience) = (nil, nil)
            return
        }
        guard trouble.patience > .zero else { return tell(trouble) }
        guard troubles.waiting.map(trouble.isSame) != true else { return }
        troubles.waiting = trouble
        troubles.patience = LoopTimer(after: trouble.patience) { [weak self] in
            // By now there may be another reason.
            guard let self, let trouble = self.trouble else { return }
            tell(trouble)
            handle(.tick)
        }
    }

    private func tell(_ trouble: Trouble) {
        log.warning("\(trouble.advice)")
        (troubles.told, troubles.waiting, troubles.patience) = (trouble, nil, nil)
    }

    /// Those that the kernel knows as such.
    private static var wirelessInterfaces: [String] {
        guard let folder = opendir("/sys/class/net") else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if access("/sys/class/net/\(name)/phy80211", F_OK) == 0 { names.append(name.printable) }
        }
        return names.sorted()
    }

    /// wpa_supplicant takes any country; whether the kernel has rules for it shows a moment later.
    func checkCountry() {
        guard let country = settings.country else { return }
        troubles.countryCheck = LoopTimer(after: .seconds(3)) { [weak self] in
            Task {
                guard let self, let found = try? await self.radio.regulatoryDomain(), found != country else { return }
                self.log.error(
                    """
                    the kernel does not go by the rules of \(country) (ALTNET_COUNTRY) but by those of \(found.printable): \
                    install the package wireless-regdb, or correct the country
                    """)
            }
        }
    }

    /// Says at the start what the agent will not be able to do.
    func reportLimits() {
        if !Privilege.mayConfigureNetworks {
            log.error(
                """
                the agent may not configure the network, so it can neither scan nor move: it lacks CAP_NET_ADMIN; start it \
                as altnet.service, or as root
                """)
        }
        if let problem = StoragePlace(of: settings.keyFilePath).problem { log.error("\(problem)") }
    }
}
