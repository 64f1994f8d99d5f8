import AgentModel

/// SAE by the host ("external authentication", Linux 6.18, the driver's module for Cypress): the host reckons, and the firmware
/// sends and receives the authentication frames.
///
/// A frame that the host has the firmware send ("mgmt_frame").
struct AuthenticationFrame: Equatable {
    let accessPoint: BSSID
    /// The driver's number of it.
    let number: UInt32
    /// The frame after its header: algorithm, transaction, status and the rest (IEEE 802.11-2020, 9.3.3.11).
    let body: [UInt8]

    /// The algorithm number of SAE (IEEE 802.11-2020, 9.4.1.1).
    private static let sae: UInt16 = 3
    /// Type and subtype of an authentication frame.
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

/// The end of an authentication, as the host tells it ("auth_status").
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
    /// The host is to authenticate: "start", the access point, the network's name, and room for a key's identifier.
    static func authenticationWanted(_ bssid: BSSID, _ ssid: SSID) -> Self {
        var data: [UInt8] = []
        data.append(little: UInt16(1))
        data += bssid.bytes
        data.append(little: UInt32(clamping: ssid.bytes.count))
        data += ssid.bytes.resized(to: 32 + 16)
        return Self(code: .authenticationWanted, address: bssid, data: data)
    }

    /// An authentication frame has come. Version, channel, signal, time and rate are big-endian, the frame is as in the air.
    static func authenticationFrame(_ frame: [UInt8], from bss: AirBSS) -> Self {
        var data: [UInt8] = []
        data.append(big: UInt16(1))
        data.append(big: ChannelSpec(bss.frequency)?.value ?? 0)
        data.append(big: Int32(clamping: bss.signal))
        for number in [0, 0] as [UInt32] { data.append(big: number) }
        return Self(code: .authenticationFrame, address: bss.bssid, data: data + frame)
    }

    /// The driver waits for it with a lock that the hidden station's requests may need. So it is told at once, and that the
    /// access point has acknowledged the frame is a guess.
    static func sent(_ frame: AuthenticationFrame) -> Self {
        var data: [UInt8] = []
        data.append(little: frame.number)
        return Self(code: .frameSent, address: frame.accessPoint, data: data)
    }
}

extension JoinOrder {
    /// SAE (IEEE 802.11-2020, table 9-151), by no key that the access point may still know.
    var isAuthenticatedByHost: Bool {
        SecuritySuites(security[...]).map { $0.keyManagement == 0x000f_ac08 && !$0.namesKey } ?? false
    }
}

extension Firmware {
    /// Carries out what concerns SAE; nil for all other variables.
    mutating func setForAuthentication(
        _ name: String, _ argument: ArraySlice<UInt8>
    ) throws(DongleError) -> (FirmwareAnswer, [Effect])? {
        switch name {
        case "mgmt_frame":
            let frame = try AuthenticationFrame(argument)
            guard case .joining(let order) = phase, order.isAuthenticatedByHost, order.bssid == frame.accessPoint else {
                return (.refused(.notAssociated), [])
            }
            return (.done, [.order(.authenticate(frame)), .tell(.sent(frame))])
        case "auth_status":
            let outcome = try AuthenticationOutcome(argument)
            guard case .joining(let order) = phase, order.isAuthenticatedByHost, order.bssid == outcome.accessPoint
            else { return (.done, []) }
            guard !outcome.hasSucceeded else { return (.done, [.order(.associate)]) }
            return (.done, leave(reason: 3) + endJoin(of: outcome.accessPoint, .failed))
        default: return nil
        }
    }

    /// The access point of a join has been found: the host is to authenticate.
    mutating func authenticate(_ bss: AirBSS) -> [Effect] {
        guard case .joining(var order) = phase, order.isAuthenticatedByHost else { return [] }
        order.bssid = bss.bssid
        phase = .joining(order)
        return [.tell(.authenticationWanted(bss.bssid, order.ssid))]
    }
}
