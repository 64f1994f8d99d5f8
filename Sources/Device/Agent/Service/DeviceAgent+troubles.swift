import AgentModel
import Glibc

extension DeviceAgent {
    /// Names of the Wi-Fi interfaces, which have a `phy80211` in sysfs.
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

    func reportLimits() {
        if !Privilege.mayConfigureNetworks {
            log.error(
                """
                the agent lacks CAP_NET_ADMIN, so it can neither scan nor switch: start it as altnet.service, or as root
                """)
        }
        if let problem = StoragePlace(of: settings.keyFilePath).problem { log.error("\(problem)") }
    }
}
