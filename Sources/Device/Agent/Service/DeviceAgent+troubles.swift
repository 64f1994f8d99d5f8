import AgentModel
import Glibc
import Linux

extension DeviceAgent {
    /// Those that the kernel knows as such.
    static var wirelessInterfaces: [String] {
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
        countryCheck = LoopTimer(after: .seconds(3)) { [weak self] in
            Task {
                guard let self, let found = try? await self.station.radio.regulatoryDomain(), found != country else {
                    return
                }
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
