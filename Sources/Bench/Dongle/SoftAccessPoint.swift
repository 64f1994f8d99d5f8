import AgentModel

/// The firmware's access point. The driver sets variables for it before it switches it on.
struct SoftAccessPoint: Equatable {
    /// Number of the driver's interface: 0 if the access point replaces the station, others next to the station.
    let interface: UInt8
    let address: BSSID
    var channel: ChannelSpec?
    /// Time between beacons, in units of 1024 µs.
    var beaconInterval: UInt16 = 100
    /// DTIM period as a number of beacons.
    var trafficInterval: UInt8 = 2
    var isHidden = false
    var security = Security()
    var ssid: SSID?
    /// Whether the access point waits for the end of a join on another channel. The radio uses only one channel.
    var isSuspended = false
    /// Group keys by index. The driver sets each once.
    var groupKeys: [UInt8: KeyOrder] = [:]
    /// Associated stations, with the time of each one's last frame.
    var stations: [BSSID: Instant] = [:]

    var isInsteadOfStation: Bool { interface == 0 }
    var isOn: Bool { ssid != nil && !isSuspended }

    /// Security settings from the driver, as numbers of the firmware.
    struct Security: Equatable {
        /// Bits of "wpa_auth"; 0 is an open network.
        var keyManagements: UInt32 = 0
        /// Value of "mfp", protected management frames: 0 none, 1 optional, 2 required.
        var frameProtection: UInt32 = 0
        /// Opposite of "wme_bss_disable". If true, each key has 16 replay counters.
        var hasReplayCounters = false

        /// Firmware bits and suites of key managements (IEEE 802.11-2020, table 9-151), in hostapd's order.
        private static let known: [(bit: UInt32, suite: UInt32)] = [
            (0x40, 0x000f_ac01), (0x80, 0x000f_ac02), (0x1000, 0x000f_ac05), (0x8000, 0x000f_ac06),
        ]
        static let ccmp: UInt32 = 0x000f_ac04
        private static let bip: UInt32 = 0x000f_ac06

        var suites: [UInt32] { Self.known.filter { keyManagements & $0.bit != 0 }.map(\.suite) }

        /// RSN element (IEEE 802.11-2020, 9.4.2.24); empty for an open network. It must equal the element in the host's
        /// handshake, because stations compare the two. Only CCMP is supported.
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

    var order: AccessPointOrder? {
        guard let ssid, let frequency = channel?.frequency else { return nil }
        return AccessPointOrder(
            isInsteadOfStation: isInsteadOfStation, address: address, ssid: ssid, frequency: frequency,
            beaconInterval: beaconInterval, trafficInterval: trafficInterval, isHidden: isHidden, security: security)
    }
}

/// Settings of the access point for the hidden radio, and the frames built from them (IEEE 802.11-2020, 9.3.3).
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

    // MARK: Frames

    /// Part of the beacon before the TIM element. The kernel inserts the TIM element.
    var beaconHead: [UInt8] {
        header(ManagementFrame.beacon, to: Self.everybody) + timing + named(isHidden ? [] : ssid.bytes) + rates
            + channelElement
    }

    /// Part of the beacon after the TIM element.
    var beaconTail: [UInt8] { moreRates + security.element + Self.trafficClasses }

    func probeResponse(to station: BSSID) -> [UInt8] {
        header(ManagementFrame.probeResponse, to: station.bytes) + timing + named(ssid.bytes) + rates + channelElement
            + beaconTail
    }

    func authentication(to station: BSSID, status: UInt16) -> [UInt8] {
        var frame = header(ManagementFrame.authentication, to: station.bytes)
        for number in [0, 2, status] as [UInt16] { frame.append(little: number) }
        return frame
    }

    /// - Parameter number: association ID, 1 to 2007.
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

    /// Timestamp, interval and capability. The radio sets the timestamp.
    private var timing: [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 8)
        bytes.append(little: beaconInterval)
        bytes.append(little: capability)
        return bytes
    }

    /// Capability of an infrastructure network with short slots. The privacy bit is set unless the network is open.
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

    /// Default WMM parameters (Wi-Fi Alliance, WMM 1.2.0, 2.2.2).
    private static let trafficClasses: [UInt8] = [
        Elements.vendor, 24, 0x00, 0x50, 0xf2, 2, 1, 1, 0, 0, 0x03, 0xa4, 0, 0, 0x27, 0xa4, 0, 0, 0x42, 0x43, 0x5e, 0,
        0x62, 0x32, 0x2f, 0,
    ]
}

struct ManagementFrame: Equatable {
    let kind: UInt8
    let station: BSSID
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
    static let heard = [
        associationRequest, reassociationRequest, probeRequest, disassociation, authentication, deauthentication,
    ]

    /// - Returns: nil for a frame of another type, and for a truncated frame.
    init?(_ frame: ArraySlice<UInt8>) {
        guard let kind = frame.first, Self.heard.contains(kind), let sender = frame.bytes(10, 6),
            let station = BSSID(bytes: sender), frame.count >= 24
        else { return nil }
        (self.kind, self.station, body) = (kind, station, Array(frame.dropFirst(24)))
    }

    /// Association request in the frame; nil for another type and for a truncated frame.
    var association: AssociationRequest? {
        let isAgain = kind == Self.reassociationRequest
        guard kind == Self.associationRequest || isAgain, let interval = body[...].little(2, as: UInt16.self),
            body.count >= (isAgain ? 10 : 4)
        else { return nil }
        return AssociationRequest(
            isAgain: isAgain, listenInterval: interval, elements: Array(body.dropFirst(isAgain ? 10 : 4)))
    }

    func asks(for ssid: SSID, isHidden: Bool) -> Bool {
        guard let name = Elements.first(Elements.ssid, in: body[...]) else { return false }
        return name.isEmpty ? !isHidden : Array(name) == ssid.bytes
    }
}

struct AssociationRequest: Equatable {
    let isAgain: Bool
    /// Listen interval in beacons.
    let listenInterval: UInt16
    let elements: [UInt8]

    /// All rates of the station, in the format of rate elements.
    var rates: [UInt8] {
        [Elements.rates, Elements.moreRates].flatMap { Elements.first($0, in: elements[...]) ?? [] }
    }

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
