import AgentModel

/// The firmware's own access point, which the driver sets up variable by variable before it is switched on.
struct SoftAccessPoint: Equatable {
    /// The driver's number of its interface: 0 where it takes the station's place, another one beside the station.
    let interface: UInt8
    let address: BSSID
    var channel: ChannelSpec?
    /// Between two beacons, in units of 1024 µs.
    var beaconInterval: UInt16 = 100
    /// In beacons.
    var trafficInterval: UInt8 = 2
    var isHidden = false
    var security = Security()
    /// Nil while it is off.
    var ssid: SSID?
    /// Whether it waits for the end of a join on another channel: the radio has one.
    var isSuspended = false
    /// The keys of the group, which the driver sets once.
    var groupKeys: [UInt8: KeyOrder] = [:]
    /// Those that are associated, and when the last frame of each came.
    var stations: [BSSID: Instant] = [:]

    var isInsteadOfStation: Bool { interface == 0 }
    var isOn: Bool { ssid != nil && !isSuspended }

    /// What the driver says of its keys, in the firmware's words.
    struct Security: Equatable {
        /// Bits of "wpa_auth": 0 is an open network.
        var keyManagements: UInt32 = 0
        /// "mfp": 0 none, 1 where the station can, 2 required.
        var frameProtection: UInt32 = 0
        /// The opposite of "wme_bss_disable": 16 replay counters for each key.
        var hasReplayCounters = false

        /// The firmware's bits and the suites of IEEE 802.11-2020, table 9-151, in hostapd's order.
        private static let known: [(bit: UInt32, suite: UInt32)] = [
            (0x40, 0x000f_ac01), (0x80, 0x000f_ac02), (0x1000, 0x000f_ac05), (0x8000, 0x000f_ac06),
        ]
        static let ccmp: UInt32 = 0x000f_ac04
        private static let bip: UInt32 = 0x000f_ac06

        var suites: [UInt32] { Self.known.filter { keyManagements & $0.bit != 0 }.map(\.suite) }

        /// The RSN element (IEEE 802.11-2020, 9.4.2.24), the same as hostapd's, which stations compare it with; empty for
        /// an open network. CCMP is all that there is.
        var element: [UInt8] {
            guard !suites.isEmpty else { return [] }
            var body: [UInt8] = []
            body.append(little: UInt16(1))
            body.append(big: Self.ccmp)
            body.append(little: UInt16(1))
            body.append(big: Self.ccmp)
            body.append(little: UInt16(clamping: suites.count))
            for suite in suites { body.append(big: suite) }
            let protection: UInt16 = frameProtection == 0 ? 0 : frameProtection == 1 ? 0x80 : 0xc0
            body.append(little: protection | (hasReplayCounters ? 0x0c : 0))
            if frameProtection != 0 {
                body.append(little: UInt16(0))
                body.append(big: Self.bip)
            }
            return [Elements.rsn, UInt8(clamping: body.count)] + body
        }
    }

    /// What the hidden radio is to send; nil while it is off or has no channel.
    var order: AccessPointOrder? {
        guard let ssid, let frequency = channel?.frequency else { return nil }
        return AccessPointOrder(
            isInsteadOfStation: isInsteadOfStation, address: address, ssid: ssid, frequency: frequency,
            beaconInterval: beaconInterval, trafficInterval: trafficInterval, isHidden: isHidden, security: security)
    }
}

/// An access point for the hidden radio, with the frames that it sends (IEEE 802.11-2020, 9.3.3).
struct AccessPointOrder: Equatable {
    let isInsteadOfStation: Bool
    let address: BSSID
    let ssid: SSID
    let frequency: Frequency
    let beaconInterval: UInt16
    let trafficInterval: UInt8
    let isHidden: Bool
    let security: SoftAccessPoint.Security

    private static let everybody = [UInt8](repeating: 0xff, count: 6)

    // MARK: Its frames

    /// The beacon before the traffic indication, which the kernel puts in.
    var beaconHead: [UInt8] {
        header(ManagementFrame.beacon, to: Self.everybody) + timing + named(isHidden ? [] : ssid.bytes) + rates
            + channelElement
    }

    /// The beacon behind it.
    var beaconTail: [UInt8] { moreRates + security.element + Self.trafficClasses }

    func probeResponse(to station: BSSID) -> [UInt8] {
        header(ManagementFrame.probeResponse, to: station.bytes) + timing + named(ssid.bytes) + rates + channelElement
            + beaconTail
    }

    /// The answer to a station's first authentication frame.
    func authentication(to station: BSSID, status: UInt16) -> [UInt8] {
        var frame = header(ManagementFrame.authentication, to: station.bytes)
        for number in [0, 2, status] as [UInt16] { frame.append(little: number) }
        return frame
    }

    /// - Parameter number: of the association, 1 to 2007.
    func association(
        of station: BSSID, isAgain: Bool, number: UInt16, hasTrafficClasses: Bool
    ) -> [UInt8] {
        let kind = isAgain ? ManagementFrame.reassociationResponse : ManagementFrame.associationResponse
        var frame = header(kind, to: station.bytes)
        for number in [capability, 0, number | 0xc000] { frame.append(little: number) }
        return frame + rates + moreRates + (hasTrafficClasses ? Self.trafficClasses : [])
    }

    func deauthentication(of station: BSSID, reason: UInt16) -> [UInt8] {
        var frame = header(ManagementFrame.deauthentication, to: station.bytes)
        frame.append(little: reason)
        return frame
    }

    private func header(_ kind: UInt8, to station: [UInt8]) -> [UInt8] {
        [kind, 0, 0, 0] + station + address.bytes + address.bytes + [0, 0]
    }

    /// Time stamp (the radio's), interval and capability.
    private var timing: [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 8)
        bytes.append(little: beaconInterval)
        bytes.append(little: capability)
        return bytes
    }

    /// An infrastructure network with short slots, and with privacy.
    private var capability: UInt16 { 0x0401 | (security.suites.isEmpty ? 0 : 0x10) }

    private func named(_ name: [UInt8]) -> [UInt8] { [Elements.ssid, UInt8(clamping: name.count)] + name }

    private var isTwoPointFour: Bool { frequency.band == .twoPointFour }

    private var rates: [UInt8] {
        [Elements.rates, 8]
            + (isTwoPointFour
                ? [0x82, 0x84, 0x8b, 0x96, 0x0c, 0x12, 0x18, 0x24] : [0x8c, 0x12, 0x98, 0x24, 0xb0, 0x48, 0x60, 0x6c])
    }

    private var moreRates: [UInt8] {
        isTwoPointFour ? [Elements.moreRates, 4, 0x30, 0x48, 0x60, 0x6c] : []
    }

    private var channelElement: [UInt8] {
        isTwoPointFour ? [Elements.channel, 1, UInt8(clamping: frequency.channel ?? 0)] : []
    }

    /// The parameters of WMM (Wi-Fi Alliance, WMM 1.2.0, 2.2.2), those of any access point.
    private static let trafficClasses: [UInt8] = [
        Elements.vendor, 24, 0x00, 0x50, 0xf2, 2, 1, 1, 0, 0, 0x03, 0xa4, 0, 0, 0x27, 0xa4, 0, 0, 0x42, 0x43, 0x5e, 0,
        0x62, 0x32, 0x2f, 0,
    ]
}

/// A frame that a station sends to the firmware's access point.
struct ManagementFrame: Equatable {
    let kind: UInt8
    let station: BSSID
    /// What follows the header.
    let body: [UInt8]

    static let associationRequest: UInt8 = 0x00
    static let associationResponse: UInt8 = 0x10
    static let reassociationRequest: UInt8 = 0x20
    static let reassociationResponse: UInt8 = 0x30
    static let probeRequest: UInt8 = 0x40
    static let probeResponse: UInt8 = 0x50
    static let beacon: UInt8 = 0x80
    static let disassociation: UInt8 = 0xa0
    static let authentication: UInt8 = 0xb0
    static let deauthentication: UInt8 = 0xc0
    /// What an access point has to answer, or to take note of.
    static let heard = [
        associationRequest, reassociationRequest, probeRequest, disassociation, authentication, deauthentication,
    ]

    /// - Returns: nil for another kind of frame, and for one that is too short.
    init?(_ frame: ArraySlice<UInt8>) {
        guard let kind = frame.first, Self.heard.contains(kind), let sender = frame.bytes(10, 6),
            let station = BSSID(bytes: sender), frame.count >= 24
        else { return nil }
        (self.kind, self.station, body) = (kind, station, Array(frame.dropFirst(24)))
    }

    /// What a station asks for with an association request; nil where it is none, or is cut off.
    var association: AssociationRequest? {
        let isAgain = kind == Self.reassociationRequest
        guard kind == Self.associationRequest || isAgain, let capability = body[...].little(0, as: UInt16.self),
            let interval = body[...].little(2, as: UInt16.self), body.count >= (isAgain ? 10 : 4)
        else { return nil }
        return AssociationRequest(
            isAgain: isAgain, capability: capability, listenInterval: interval,
            elements: Array(body.dropFirst(isAgain ? 10 : 4)))
    }

    /// Whether a probe request is for a network of this name.
    func asks(for ssid: SSID, isHidden: Bool) -> Bool {
        guard let name = Elements.first(Elements.ssid, in: body[...]) else { return false }
        return name.isEmpty ? !isHidden : Array(name) == ssid.bytes
    }
}

struct AssociationRequest: Equatable {
    let isAgain: Bool
    let capability: UInt16
    /// In beacons.
    let listenInterval: UInt16
    let elements: [UInt8]

    /// All rates that the station has, as its elements write them.
    var rates: [UInt8] {
        [Elements.rates, Elements.moreRates].flatMap { Elements.first($0, in: elements[...]) ?? [] }
    }

    /// Whether it knows classes of traffic (WMM).
    var hasTrafficClasses: Bool {
        var rest = elements[...]
        while let kind = rest.first, let length = rest.little(1, as: UInt8.self), let body = rest.bytes(2, Int(length))
        {
            if kind == Elements.vendor, body.starts(with: [0x00, 0x50, 0xf2, 2]) { return true }
            rest = rest.dropFirst(2 + body.count)
        }
        return false
    }

    var canProtectFrames: Bool { SecuritySuites(elements[...])?.canProtectFrames ?? false }
}
