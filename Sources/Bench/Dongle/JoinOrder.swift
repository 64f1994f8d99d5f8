import AgentModel

/// A join that the driver requests, with the settings that it made earlier.
struct JoinOrder: Equatable {
    let ssid: SSID
    /// Access point to join; nil for any access point of the network.
    var bssid: BSSID?
    /// Channel of the access point; nil if the firmware must scan all channels.
    var channel: ChannelSpec?
    /// Security element of the station; empty for none.
    var security: [UInt8] = []

    /// The driver's command for a join. It determines the offsets of the fields after the name.
    enum Form {
        case join
        case setSSID

        fileprivate var bssid: Int { self == .join ? 56 : 36 }
    }

    init(_ argument: ArraySlice<UInt8>, _ form: Form) throws(DongleError) {
        guard let length = argument.little(0, as: UInt32.self), length <= 32,
            let name = argument.bytes(4, Int(length)), let ssid = try? SSID(bytes: name)
        else { throw .malformed("name in a join of \(argument.count) bytes") }
        self.ssid = ssid
        let address = argument.bytes(form.bssid, 6)
        // Group addresses and the zero address mean any access point.
        let isOne = address.map { $0.first.map { $0 & 1 == 0 } ?? false && $0.contains { $0 != 0 } } ?? false
        bssid = isOne ? address.flatMap { BSSID(bytes: $0) } : nil
        let count = argument.little(form.bssid + 8, as: UInt32.self) ?? 0
        let value = argument.little(form.bssid + 12, as: UInt16.self)
        channel = count > 0 ? value.map(ChannelSpec.init(value:)) : nil
    }
}

/// Cipher and key management suites of an RSN element (IEEE 802.11-2020, 9.4.2.24), separately as nl80211 needs them.
struct SecuritySuites: Equatable {
    let group: UInt32
    let pairwise: UInt32
    let keyManagement: UInt32
    let canProtectFrames: Bool
    /// Whether the element has the PMKID of an earlier authentication.
    let namesKey: Bool

    /// - Parameter element: element with its header.
    /// - Returns: nil for another element, and for a truncated one.
    init?(_ element: ArraySlice<UInt8>) {
        guard let body = Elements.first(Elements.rsn, in: element) else { return nil }
        self.init(body: body)
    }

    init?(body: ArraySlice<UInt8>) {
        guard let group = body.big(2, as: UInt32.self), let pairwiseCount = body.little(6, as: UInt16.self),
            pairwiseCount > 0, let pairwise = body.big(8, as: UInt32.self)
        else { return nil }
        let keys = 8 + 4 * Int(pairwiseCount)
        guard let keyCount = body.little(keys, as: UInt16.self), keyCount > 0,
            let keyManagement = body.big(keys + 2, as: UInt32.self)
        else { return nil }
        self.group = group
        self.pairwise = pairwise
        self.keyManagement = keyManagement
        let end = keys + 2 + 4 * Int(keyCount)
        canProtectFrames = (body.little(end, as: UInt16.self) ?? 0) & 0x80 != 0
        namesKey = (body.little(end + 2, as: UInt16.self) ?? 0) > 0
    }
}
