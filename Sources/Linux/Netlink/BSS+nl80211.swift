import AgentModel
import CNetlink

extension BSS {
    /// Reads one message of a scan dump (`NL80211_CMD_NEW_SCAN_RESULTS`).
    /// - Parameter now: for drivers that say only how long ago they heard it.
    /// - Returns: nil without an address, a frequency or any measure of the signal.
    init?(_ message: NetlinkMessage, now: Instant) {
        guard let entry = message.nl80211Attributes[NL80211_ATTR_BSS]?.nested,
            let bssid = entry[NL80211_BSS_BSSID].flatMap({ BSSID(bytes: $0.bytes) }),
            let frequency = entry[NL80211_BSS_FREQUENCY]?.count(as: UInt32.self),
            let signal = Self.signal(entry)
        else { return nil }
        // The newest frame, and the newest beacon where that was a probe response.
        let elements = entry[NL80211_BSS_INFORMATION_ELEMENTS].map { InformationElements($0.bytes) }
        let beacon = entry[NL80211_BSS_BEACON_IES].map { InformationElements($0.bytes) }
        let isPrivate = (entry[NL80211_BSS_CAPABILITY]?.number(as: UInt16.self) ?? 0) & Self.privacy != 0
        self.init(
            bssid: bssid, ssid: elements?.networkName ?? beacon?.networkName,
            frequency: Frequency(megahertz: frequency),
            signal: signal,
            lastSeen: Self.lastSeen(entry, now: now),
            security: (elements ?? beacon)?.security(isPrivate: isPrivate) ?? .unknown,
            protection: (elements ?? beacon)?.protection ?? [], mobility: (elements ?? beacon)?.mobility)
    }

    /// The encrypted half of an open network, by what the open half says of it: that half answers no scan but one that calls it
    /// by a name of its own, which wpa_supplicant does before it joins it.
    /// - Parameter open: as read from the message.
    /// - Returns: nil where it says nothing, or that the other half is elsewhere.
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

    /// Whether this message of a scan dump is of the access point that the interface is associated with.
    static func isAssociated(_ message: NetlinkMessage) -> Bool {
        message.nl80211Attributes[NL80211_ATTR_BSS]?.nested[NL80211_BSS_STATUS]?.number(as: UInt32.self)
            == NL80211_BSS_STATUS_ASSOCIATED.rawValue
    }

    /// The privacy bit of the capability field (IEEE 802.11-2020, 9.4.1.4).
    private static let privacy: UInt16 = 1 << 4

    private static func signal(_ entry: Attributes) -> Int? {
        if let hundredths = entry[NL80211_BSS_SIGNAL_MBM]?.number(as: Int32.self) { return Int(hundredths) / 100 }
        // Drivers without a calibrated measure say 0 to 100; taken as the usual percentage for -100 to -50.
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

/// The access points of a scan dump. The kernel remembers 1000 (cfg80211's `bss_entries_limit`); of more than that, which is
/// some other driver's doing, the strongest are kept.
struct HeardAccessPoints {
    static let limit = 1024
    private var kept: [BSS] = []
    /// Access points that others tell of.
    private var told: [BSS] = []

    /// - Parameter half: its encrypted half, as it tells of it.
    mutating func add(_ bss: BSS, encryptedHalf half: BSS? = nil) {
        kept.append(bss)
        if let half, told.count < Self.limit { told.append(half) }
        if kept.count == 2 * Self.limit { forgetWeakest() }
    }

    /// In the order of the dump, where none was forgotten; behind them those that were told of and not heard themselves.
    mutating func take() -> [BSS] {
        if kept.count > Self.limit { forgetWeakest() }
        var heard = Set(kept.map(\.bssid))
        return kept + told.filter { heard.insert($0.bssid).inserted }.prefix(Self.limit - kept.count)
    }

    /// How many are held now.
    var count: Int { kept.count }

    private mutating func forgetWeakest() {
        kept.sort { ($0.signal, $1.bssid) > ($1.signal, $0.bssid) }
        kept.removeLast(kept.count - Self.limit)
    }
}

/// The information elements of a beacon or probe response (IEEE 802.11-2020, 9.4.2), as far as they say what the
/// network is called and how it is joined.
///
/// They come off the air from any sender. An element that claims more than there is ends the list; of elements that may
/// occur once the first counts.
struct InformationElements: Hashable {
    /// Nil for an access point that hides its name: the element is absent, empty or all zeros, or impossible.
    private(set) var ssid: SSID?
    private(set) var rsn: SecurityElement?
    /// The vendor's element that came before RSN ("WPA").
    private(set) var wpa: SecurityElement?
    /// Whether an RSN or WPA element is there that does not decode: the network is protected, it is not known how.
    private(set) var hasBrokenSecurity = false
    /// Whether an access point says that it is one of an open network's two halves, of which one is encrypted (OWE transition
    /// mode).
    private(set) var announcesOWE = false
    private(set) var otherHalf: OtherHalf?
    private(set) var mobility: MobilityDomain?

    struct OtherHalf: Hashable {
        let bssid: BSSID
        let ssid: SSID
        /// Whether it is on another channel, or said to be on this one.
        let hasOwnChannel: Bool
    }

    init(_ bytes: ArraySlice<UInt8>) {
        var reader = ByteReader(bytes)
        var hasSSID = false
        while let id = reader.take(UInt8.self), let length = reader.take(UInt8.self),
            let body = reader.take(Int(length))
        {
            switch id {
            case ElementID.ssid where !hasSSID:
                hasSSID = true
                ssid = body.allSatisfy { $0 == 0 } ? nil : try? SSID(bytes: body)
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

    /// By what name a user knows the network: the encrypted half of an open network hides its own, and is called as the open
    /// one (Wi-Fi Alliance, Opportunistic Wireless Encryption Specification, 2.2).
    var networkName: SSID? { rsn?.keyManagement.contains(.owe) == true ? otherHalf?.ssid ?? ssid : ssid }

    /// - Parameter body: the address of the other half, its name with the length before it, and perhaps its channel.
    private static func otherHalf(_ body: ArraySlice<UInt8>) -> OtherHalf? {
        var reader = ByteReader(body)
        guard let bssid = reader.take(6).flatMap({ BSSID(bytes: $0) }), let length = reader.take(UInt8.self),
            let name = reader.take(Int(length)),
            !name.allSatisfy({ $0 == 0 }), let ssid = try? SSID(bytes: name)
        else { return nil }
        return OtherHalf(bssid: bssid, ssid: ssid, hasOwnChannel: reader.take(UInt8.self) != nil)
    }

    /// The domain's number, and a bit that says whether requests go over the distribution system.
    private static func mobility(_ body: ArraySlice<UInt8>) -> MobilityDomain? {
        var reader = ByteReader(body)
        guard let low = reader.take(UInt8.self), let high = reader.take(UInt8.self),
            let policy = reader.take(UInt8.self)
        else { return nil }
        return MobilityDomain(id: UInt16(low) | UInt16(high) << 8, isOverDistributionSystem: policy & 1 != 0)
    }

    /// How stations authenticate.
    /// - Parameter isPrivate: the privacy bit of the capability field (9.4.1.4). Without RSN and WPA it means WEP.
    func security(isPrivate: Bool) -> Security {
        guard let element = rsn ?? wpa else {
            // A protected network must not pass for an open one because its element is broken.
            return hasBrokenSecurity ? .unknown : isPrivate ? .wep : announcesOWE ? .owe : .open
        }
        let offered = element.keyManagement
        guard !offered.isDisjoint(with: [.psk, .sae, .owe, .enterprise]) else { return .unknown }
        if let flaw = element.flaw { return flaw }
        // Before there was RSN. The offer of the vendors' element counts for nothing if RSN is offered too.
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

    /// The protection that it announces for a link. An open network that announces an encrypted twin offers none
    /// itself.
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
    /// The security by its ciphers, whatever the key management; nil where both can be CCMP or GCMP.
    ///
    /// TKIP for the group alone, as routers have it that serve WPA and WPA2 side by side, is no better: broadcasts can
    /// be forged within minutes, and two forged frames silence the access point for one (IEEE 802.11-2020, 12.5.2.4).
    fileprivate var flaw: Security? {
        let ciphers = pairwiseCiphers.contains(.usable) ? [groupCipher] : pairwiseCiphers
        if ciphers == [.usable] { return nil }
        return ciphers.contains(.tkip) ? .legacy : ciphers.contains(.wep) ? .wep : .unknown
    }
}

/// Element numbers (IEEE 802.11-2020, table 9-92).
private enum ElementID {
    static let ssid: UInt8 = 0
    static let rsn: UInt8 = 48
    static let mobilityDomain: UInt8 = 54
    static let vendor: UInt8 = 221
}

/// How the vendors' elements begin: organisation and type.
private enum VendorType {
    static let wpa: [UInt8] = [0x00, 0x50, 0xf2, 1]
    /// Wi-Fi Alliance, Opportunistic Wireless Encryption Specification, 2.2.1.
    static let oweTransition: [UInt8] = [0x50, 0x6f, 0x9a, 0x1c]
}
