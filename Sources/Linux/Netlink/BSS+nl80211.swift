import AgentModel
import CNetlink

extension BSS {
    /// Reads one message of a scan dump (`NL80211_CMD_NEW_SCAN_RESULTS`).
    /// - Parameter now: current time, for drivers that report only the age of an entry.
    /// - Returns: nil without BSSID, frequency or signal.
    init?(_ message: NetlinkMessage, now: Instant) {
        guard let entry = message.nl80211Attributes[NL80211_ATTR_BSS]?.nested,
            let bssid = entry[NL80211_BSS_BSSID].flatMap({ BSSID(bytes: $0.bytes) }),
            let frequency = entry[NL80211_BSS_FREQUENCY]?.count(as: UInt32.self),
            let signal = Self.signal(entry)
        else { return nil }
        // Elements of the newest frame. If that was a probe response, the newest beacon has its own elements.
        let elements = entry[NL80211_BSS_INFORMATION_ELEMENTS].map { InformationElements($0.bytes) }
        let beacon = entry[NL80211_BSS_BEACON_IES].map { InformationElements($0.bytes) }
        let isPrivate = (entry[NL80211_BSS_CAPABILITY]?.number(as: UInt16.self) ?? 0) & Self.privacy != 0
        self.init(
            bssid: bssid, ssid: elements?.networkName ?? beacon?.networkName,
            frequency: Frequency(megahertz: frequency),
            signal: signal,
            lastSeen: Self.lastSeen(entry, now: now),
            security: (elements ?? beacon)?.security(isPrivate: isPrivate) ?? .unknown,
            protection: (elements ?? beacon)?.protection ?? [], mobility: (elements ?? beacon)?.mobility,
            channelUtilization: elements?.channelUtilization ?? beacon?.channelUtilization)
    }

    /// Returns the encrypted BSS of an OWE transition network, as its open BSS announces it. The encrypted BSS is
    /// visible only in scans for its own SSID, which wpa_supplicant makes before joining.
    /// - Returns: nil without an announcement, or if the announcement names a channel.
    static func encryptedHalf(of open: BSS, _ message: NetlinkMessage) -> BSS? {
        guard open.security == .owe, open.protection.isEmpty,
            let entry = message.nl80211Attributes[NL80211_ATTR_BSS]?.nested,
            let bytes = (entry[NL80211_BSS_INFORMATION_ELEMENTS] ?? entry[NL80211_BSS_BEACON_IES])?.bytes,
            let other = InformationElements(bytes).otherHalf, !other.hasOwnChannel, other.bssid != open.bssid
        else { return nil }
        return BSS(
            bssid: other.bssid, ssid: open.ssid, frequency: open.frequency, signal: open.signal,
            lastSeen: open.lastSeen, security: .owe, protection: LinkProtection(usualOf: .owe))
    }

    static func isAssociated(_ message: NetlinkMessage) -> Bool {
        message.nl80211Attributes[NL80211_ATTR_BSS]?.nested[NL80211_BSS_STATUS]?.number(as: UInt32.self)
            == NL80211_BSS_STATUS_ASSOCIATED.rawValue
    }

    /// Privacy bit of the capability field (IEEE 802.11-2020, 9.4.1.4).
    private static let privacy: UInt16 = 1 << 4

    private static func signal(_ entry: Attributes) -> Int? {
        if let hundredths = entry[NL80211_BSS_SIGNAL_MBM]?.number(as: Int32.self) { return Int(hundredths) / 100 }
        // Uncalibrated drivers report 0 to 100. As usual, this is mapped to -100 to -50 dBm.
        return entry[NL80211_BSS_SIGNAL_UNSPEC]?.number(as: UInt8.self).map { Int(min($0, 100)) / 2 - 100 }
    }

    private static func lastSeen(_ entry: Attributes, now: Instant) -> Instant {
        if let nanoseconds = entry[NL80211_BSS_LAST_SEEN_BOOTTIME]?.number(as: UInt64.self) {
            return min(Instant(milliseconds: Int64(nanoseconds / 1_000_000)), now)
        }
        let age = entry[NL80211_BSS_SEEN_MS_AGO]?.number(as: UInt32.self) ?? 0
        return now - .milliseconds(Int64(age))
    }
}

/// Access points of a scan dump. The kernel keeps 1000 (cfg80211's `bss_entries_limit`). If a driver reports more, this
/// list keeps the strongest.
struct HeardAccessPoints {
    static let limit = 1024
    private var kept: [BSS] = []
    /// Encrypted halves that open access points announce.
    private var reported: [BSS] = []

    /// - Parameter half: the encrypted half that `bss` announces.
    mutating func add(_ bss: BSS, encryptedHalf half: BSS? = nil) {
        kept.append(bss)
        if let half, reported.count < Self.limit { reported.append(half) }
        if kept.count == 2 * Self.limit { forgetWeakest() }
    }

    /// Returns the access points, in dump order if none was dropped. Appends announced ones that the dump lacks.
    mutating func merged() -> [BSS] {
        if kept.count > Self.limit { forgetWeakest() }
        var heard = Set(kept.map(\.bssid))
        return kept + reported.filter { heard.insert($0.bssid).inserted }.prefix(Self.limit - kept.count)
    }

    var count: Int { kept.count }

    private mutating func forgetWeakest() {
        kept.sort { ($0.signal, $1.bssid) > ($1.signal, $0.bssid) }
        kept.removeLast(kept.count - Self.limit)
    }
}

/// Information elements of a beacon or probe response (IEEE 802.11-2020, 9.4.2), limited to network name,
/// security, mobility domain and channel load. The sender is untrusted: a truncated element ends the list, and of
/// duplicate elements the first counts.
struct InformationElements: Hashable {
    /// SSID; nil for a hidden name: the element is absent, empty, all zeros or invalid.
    private(set) var ssid: SSID?
    private(set) var rsn: SecurityElement?
    /// WPA vendor element, the predecessor of RSN.
    private(set) var wpa: SecurityElement?
    /// True if an RSN or WPA element cannot be decoded: the network is protected in an unknown way.
    private(set) var hasBrokenSecurity = false
    /// True if the access point announces OWE transition mode: one open and one encrypted BSS.
    private(set) var announcesOWE = false
    private(set) var otherHalf: OtherHalf?
    private(set) var mobility: MobilityDomain?
    /// Channel utilization of the BSS load element, 0 to 255. Nil without a valid element.
    private(set) var channelUtilization: UInt8?

    struct OtherHalf: Hashable {
        let bssid: BSSID
        let ssid: SSID
        /// True if the element names the other BSS's channel. Otherwise both BSSs have the same channel.
        let hasOwnChannel: Bool
    }

    init(_ bytes: ArraySlice<UInt8>) {
        var reader = ByteReader(bytes)
        var (hasSSID, hasLoad) = (false, false)
        while let id = reader.read(UInt8.self), let length = reader.read(UInt8.self),
            let body = reader.read(Int(length))
        {
            switch id {
            case ElementID.ssid where !hasSSID:
                hasSSID = true
                ssid = body.allSatisfy { $0 == 0 } ? nil : try? SSID(bytes: body)
            case ElementID.load where !hasLoad:
                hasLoad = true
                channelUtilization = Self.channelUtilization(body)
            case ElementID.mobilityDomain where mobility == nil: mobility = Self.mobility(body)
            case ElementID.rsn: Self.keepFirst(SecurityElement(body), in: &rsn, orNote: &hasBrokenSecurity)
            case ElementID.vendor where body.starts(with: VendorType.wpa):
                let element = SecurityElement(body.dropFirst(VendorType.wpa.count))
                Self.keepFirst(element, in: &wpa, orNote: &hasBrokenSecurity)
            case ElementID.vendor where body.starts(with: VendorType.oweTransition):
                if !announcesOWE { otherHalf = Self.otherHalf(body.dropFirst(VendorType.oweTransition.count)) }
                announcesOWE = true
            default: break
            }
        }
    }

    /// Network name for users. The hidden encrypted BSS has the name of its open BSS (Wi-Fi Alliance, Opportunistic
    /// Wireless Encryption Specification, 2.2).
    var networkName: SSID? { rsn?.keyManagement.contains(.owe) == true ? otherHalf?.ssid ?? ssid : ssid }

    /// - Parameter body: BSSID, length and SSID of the other BSS, and optionally its channel.
    private static func otherHalf(_ body: ArraySlice<UInt8>) -> OtherHalf? {
        var reader = ByteReader(body)
        guard let bssid = reader.read(6).flatMap({ BSSID(bytes: $0) }), let length = reader.read(UInt8.self),
            let name = reader.read(Int(length)),
            !name.allSatisfy({ $0 == 0 }), let ssid = try? SSID(bytes: name)
        else { return nil }
        return OtherHalf(bssid: bssid, ssid: ssid, hasOwnChannel: reader.read(UInt8.self) != nil)
    }

    /// - Parameter body: station count, channel utilization and available admission capacity (9.4.2.27), 5 bytes.
    private static func channelUtilization(_ body: ArraySlice<UInt8>) -> UInt8? {
        body.count == 5 ? body.dropFirst(2).first : nil
    }

    private static func mobility(_ body: ArraySlice<UInt8>) -> MobilityDomain? {
        var reader = ByteReader(body)
        guard let low = reader.read(UInt8.self), let high = reader.read(UInt8.self),
            let policy = reader.read(UInt8.self)
        else { return nil }
        return MobilityDomain(id: UInt16(low) | UInt16(high) << 8, isOverDistributionSystem: policy & 1 != 0)
    }

    /// - Parameter isPrivate: privacy bit of the capability field (9.4.1.4). Without RSN and WPA it means WEP.
    func security(isPrivate: Bool) -> Security {
        guard let element = rsn ?? wpa else {
            // A broken element must not make a protected network look open.
            return hasBrokenSecurity ? .unknown : isPrivate ? .wep : announcesOWE ? .owe : .open
        }
        let offered = element.keyManagement
        guard !offered.isDisjoint(with: [.psk, .sae, .owe, .enterprise]) else { return .unknown }
        if let flaw = element.flaw { return flaw }
        // The network has WPA without RSN. If RSN is present, the WPA element is ignored.
        guard rsn != nil else { return .legacy }
        return if offered.isSuperset(of: [.psk, .sae]) {
            .wpa2wpa3
        } else if offered.contains(.psk) {
            .wpa2
        } else if offered.contains(.enterprise), offered.isDisjoint(with: [.sae, .owe]) {
            .enterprise
        } else {
            offered.contains(.sae) ? .wpa3 : .owe
        }
    }

    /// Link protection that the access point announces. The open BSS of an OWE transition network offers none.
    var protection: LinkProtection {
        guard let rsn else { return [] }
        var protection: LinkProtection = rsn.protectsManagementFrames ? .pmf : []
        if rsn.keyManagement.contains(.sae) { protection.insert(.sae) }
        if rsn.keyManagement.contains(.owe) { protection.insert(.owe) }
        return protection
    }

    private static func keepFirst(
        _ element: SecurityElement?, in place: inout SecurityElement?, orNote isBroken: inout Bool
    ) {
        guard let element else { return isBroken = true }
        place = place ?? element
    }
}

extension SecurityElement {
    /// Security class by weak ciphers; nil if both pairwise and group cipher can be CCMP or GCMP.
    ///
    /// A TKIP group cipher, as in mixed WPA and WPA2 routers, is just as weak. Broadcasts can be forged within minutes,
    /// and two forged frames silence the access point for a minute (IEEE 802.11-2020, 12.5.2.4).
    fileprivate var flaw: Security? {
        let ciphers = pairwiseCiphers.contains(.usable) ? [groupCipher] : pairwiseCiphers
        if ciphers == [.usable] { return nil }
        return ciphers.contains(.tkip) ? .legacy : ciphers.contains(.wep) ? .wep : .unknown
    }
}

/// Element numbers (IEEE 802.11-2020, table 9-92).
private enum ElementID {
    static let ssid: UInt8 = 0
    static let load: UInt8 = 11
    static let rsn: UInt8 = 48
    static let mobilityDomain: UInt8 = 54
    static let vendor: UInt8 = 221
}

/// First bytes of vendor elements: organisation and type.
private enum VendorType {
    static let wpa: [UInt8] = [0x00, 0x50, 0xf2, 1]
    /// Type of the OWE transition element (Wi-Fi Alliance, Opportunistic Wireless Encryption Specification, 2.2.1).
    static let oweTransition: [UInt8] = [0x50, 0x6f, 0x9a, 0x1c]
}
