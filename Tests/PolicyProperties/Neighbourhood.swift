import AgentModel
import Failover

/// The networks and access points that all histories are about.
package enum Neighbourhood {
    /// Network `index`, of five: the last one is open, the last but one is hidden.
    package static func network(_ index: Int, isPreferred: Bool = false, generation: Int = 0) -> KnownNetwork {
        KnownNetwork(
            id: NetworkID(index + generation * networkCount), ssid: names[index], usesPassphrase: index != 4,
            isHidden: index == 3, isPreferred: isPreferred)
    }

    package static let networkCount = 5
    private static let names = ["Home", "Backup", "Spare", "Hidden", "Open"].compactMap { try? SSID($0) }

    /// Two access points for each network, one on each band, and then unverified ones without end.
    package static func accessPoint(_ index: Int) -> AccessPoint {
        let bytes: [UInt8] = [
            2, 0, UInt8(truncatingIfNeeded: index >> 24), UInt8(truncatingIfNeeded: index >> 16),
            UInt8(truncatingIfNeeded: index >> 8), UInt8(truncatingIfNeeded: index),
        ]
        guard let bssid = BSSID(bytes: bytes) else { preconditionFailure("six bytes") }
        return AccessPoint(bssid: bssid, frequency: frequencies[index % frequencies.count])
    }

    package static let accessPointCount = 2 * networkCount
    package static let frequencies = [2412, 2437, 2462, 2472, 2417, 5180, 5260, 5500, 5660, 5825].map(
        Frequency.init(megahertz:))

    package static func networkIndex(ofAccessPoint index: Int) -> Int { index % networkCount }

    /// A scan's observation of an access point.
    package static func observation(of index: Int, signal: Int, lastSeen: Instant, isEvilTwin: Bool = false) -> BSS {
        let accessPoint = accessPoint(index)
        let network = network(networkIndex(ofAccessPoint: index))
        return BSS(
            bssid: accessPoint.bssid, ssid: network.ssid,
            frequency: accessPoint.frequency ?? frequencies[0], signal: signal, lastSeen: lastSeen,
            security: network.usesPassphrase == isEvilTwin ? .open : .wpa2)
    }
}

extension KnownNetwork {
    /// Whether an access point is one of this network's, and not a neighbour's with the same name.
    func owns(_ bss: BSS) -> Bool {
        bss.ssid == ssid && (usesPassphrase ? bss.security.usesPassphrase : bss.security.isOpenToAll)
    }
}
