import AgentModel

/// The information elements of a beacon or probe response (IEEE 802.11-2020, 9.4.2), as far as they say what the network
/// is called and how it is joined.
///
/// They come off the air from anybody. An element that claims more than there is ends the list; of elements that may
/// occur once the first counts.
struct InformationElements: Hashable {
    /// Nil for an access point that hides its name: the element is absent, empty or all zeros, or impossible.
    private(set) var ssid: SSID?
    private(set) var rsn: SecurityElement?
    /// The vendor's element that came before RSN ("WPA").
    private(set) var wpa: SecurityElement?
    /// Whether an RSN or WPA element is there that does not decode: the network is protected, by nobody knows what.
    private(set) var hasBrokenSecurity = false
    /// Whether an open network says that it has an encrypted twin (OWE transition mode).
    private(set) var announcesOWE = false

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
            case ElementID.rsn: Self.keepFirst(SecurityElement(body), in: &rsn, orNote: &hasBrokenSecurity)
            case ElementID.vendor where body.starts(with: VendorType.wpa):
                let element = SecurityElement(body.dropFirst(VendorType.wpa.count))
                Self.keepFirst(element, in: &wpa, orNote: &hasBrokenSecurity)
            case ElementID.vendor where body.starts(with: VendorType.oweTransition): announcesOWE = true
            default: break
            }
        }
    }

    /// How stations authenticate.
    /// - Parameter isPrivate: the privacy bit of the capability field (9.4.1.4). Without RSN and WPA it means WEP.
    func security(isPrivate: Bool) -> Security {
        guard let element = rsn ?? wpa else {
            // A protected network must not pass for an open one because its element is broken.
            return hasBrokenSecurity ? .unknown : isPrivate ? .wep : announcesOWE ? .owe : .open
        }
        let offered = element.keyManagement
        guard !offered.isDisjoint(with: [.psk, .sae, .owe]) else {
            return offered.contains(.enterprise) ? .enterprise : .unknown
        }
        if let flaw = element.flaw { return flaw }
        // Before there was RSN. What the vendors' element offers counts for nothing where RSN is offered too.
        guard rsn != nil else { return .legacy }
        return if offered.isSuperset(of: [.psk, .sae]) {
            .wpa2wpa3
        } else if offered.contains(.psk) {
            .wpa2
        } else {
            offered.contains(.sae) ? .wpa3 : .owe
        }
    }

    /// What it says that it can do for a link. An open network that announces an encrypted twin does none of it itself.
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
    /// What it is for its ciphers, whatever the key management; nil where both can be CCMP or GCMP.
    ///
    /// TKIP for the group alone, as routers have it that serve WPA and WPA2 side by side, is no better: broadcasts can be
    /// forged within minutes, and two forged frames silence the access point for one (IEEE 802.11-2020, 12.5.2.4).
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
    static let vendor: UInt8 = 221
}

/// How the vendors' elements begin: organisation and type.
private enum VendorType {
    static let wpa: [UInt8] = [0x00, 0x50, 0xf2, 1]
    /// Wi-Fi Alliance, Opportunistic Wireless Encryption Specification, 2.2.1.
    static let oweTransition: [UInt8] = [0x50, 0x6f, 0x9a, 0x1c]
}
