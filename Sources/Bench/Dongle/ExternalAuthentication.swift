import AgentModel

/// A frame that the host sends through the firmware ("mgmt_frame").
///
/// The frame is part of SAE by the host ("external authentication", Linux 6.18, brcmfmac's module for Cypress). The
/// host calculates the frames, and the firmware transmits them.
struct AuthenticationFrame: Equatable {
    let accessPoint: BSSID
    /// Number of the authentication. The driver chooses it.
    let number: UInt32
    /// Body of the frame: algorithm, transaction, status and the rest (IEEE 802.11-2020, 9.3.3.11).
    let body: [UInt8]

    /// Algorithm number of SAE (IEEE 802.11-2020, 9.4.1.1).
    private static let sae: UInt16 = 3
    private static let control: UInt16 = 0xb0
    private static let headerLength = 32
    private static let longestBody = 1024

    init(_ argument: ArraySlice<UInt8>) throws(DongleError) {
        guard let length = argument.little(8, as: UInt16.self), length >= 6, length <= Self.longestBody,
            argument.little(10, as: UInt16.self).map({ $0 & 0xfc }) == Self.control,
            let address = argument.bytes(14, 6).flatMap({ BSSID(bytes: $0) }),
            let number = argument.little(28, as: UInt32.self),
            let body = argument.bytes(Self.headerLength, Int(length)), body.little(0) == Self.sae
        else { throw .malformed("authentication frame of \(argument.count) bytes") }
        (accessPoint, self.number, self.body) = (address, number, Array(body))
    }
}

/// Result of the host's authentication ("auth_status").
struct AuthenticationOutcome: Equatable {
    let accessPoint: BSSID
    let hasSucceeded: Bool

    private static let success: UInt16 = 4
    private static let failure: UInt16 = 3

    init(_ argument: ArraySlice<UInt8>) throws(DongleError) {
        guard let flags = argument.little(0, as: UInt16.self), flags == Self.success || flags == Self.failure,
            let address = argument.bytes(2, 6).flatMap({ BSSID(bytes: $0) })
        else { throw .malformed("outcome of an authentication, \(argument.count) bytes") }
        (accessPoint, hasSucceeded) = (address, flags == Self.success)
    }
}

extension FirmwareEvent {
    /// Returns the event that asks the host to authenticate: "start", access point, SSID, and space for a key ID.
    static func authenticationWanted(_ bssid: BSSID, _ ssid: SSID) -> Self {
        var data: [UInt8] = []
        data.append(little: UInt16(1))
        data += bssid.bytes
        data.append(little: UInt32(clamping: ssid.bytes.count))
        data += ssid.bytes.resized(to: 32 + 16)
        return Self(code: .authenticationWanted, address: bssid, data: data)
    }

    /// Returns the event with a received authentication frame. Version, channel, signal, time and rate are big-endian.
    static func authenticationFrame(_ frame: [UInt8], from bss: AirBSS) -> Self {
        var data: [UInt8] = []
        data.append(big: UInt16(1))
        data.append(big: ChannelSpec(bss.frequency)?.value ?? 0)
        data.append(big: Int32(clamping: bss.signal))
        for number in [0, 0] as [UInt32] { data.append(big: number) }
        return Self(code: .authenticationFrame, address: bss.bssid, data: data + frame)
    }

    /// Returns the event that a frame was acknowledged. The firmware sends the event before the frame, because the
    /// driver waits for it with a lock that the hidden station's requests may need.
    static func sent(_ frame: AuthenticationFrame) -> Self {
        var data: [UInt8] = []
        data.append(little: frame.number)
        return Self(code: .frameSent, address: frame.accessPoint, data: data)
    }
}

extension JoinOrder {
    /// Whether the host authenticates: key management is SAE (IEEE 802.11-2020, table 9-151) without a PMKID.
    var isAuthenticatedByHost: Bool {
        SecuritySuites(security[...]).map { $0.keyManagement == 0x000f_ac08 && !$0.namesKey } ?? false
    }
}

extension Firmware {
    /// Sets a variable of SAE by the host.
    /// - Returns: nil for other variables.
    mutating func setForAuthentication(
        _ name: String, _ argument: ArraySlice<UInt8>
    ) throws(DongleError) -> (FirmwareAnswer, [Effect])? {
        switch name {
        case "mgmt_frame":
            let frame = try AuthenticationFrame(argument)
            guard case .joining(let order) = phase, order.isAuthenticatedByHost, order.bssid == frame.accessPoint else {
                return (.refused(.notAssociated), [])
            }
            return (.done, [.order(.authenticate(frame)), .event(.sent(frame))])
        case "auth_status":
            let outcome = try AuthenticationOutcome(argument)
            guard case .joining(let order) = phase, order.isAuthenticatedByHost, order.bssid == outcome.accessPoint
            else { return (.done, []) }
            guard !outcome.hasSucceeded else { return (.done, [.order(.associate)]) }
            return (.done, leave(reason: 3) + endJoin(of: outcome.accessPoint, .failed))
        default: return nil
        }
    }

    mutating func authenticate(_ bss: AirBSS) -> [Effect] {
        guard case .joining(var order) = phase, order.isAuthenticatedByHost else { return [] }
        order.bssid = bss.bssid
        phase = .joining(order)
        return [.event(.authenticationWanted(bss.bssid, order.ssid))]
    }
}
