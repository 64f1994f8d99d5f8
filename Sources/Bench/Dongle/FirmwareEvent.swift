import AgentModel

/// An event for the driver: an Ethernet frame of type 0x886c, big-endian.
struct FirmwareEvent: Equatable {
    let code: Code
    var status: Status = .success
    var reason: UInt32 = 0
    /// Flags of the event. Bit 0 of LINK means that the link is up.
    var flags: UInt16 = 0
    var address: BSSID?
    var interface: UInt8 = 0
    var data: [UInt8] = []

    enum Code: UInt32 {
        case setSSID = 0
        case deauthenticated = 6
        /// A station has joined the firmware's access point. The event's data has the elements of the station's
        /// request.
        case stationJoined = 8
        case stationJoinedAgain = 10
        case link = 16
        case roamed = 19
        case interface = 54
        case listenComplete = 55
        case signal = 56
        case scanResult = 69
        case authenticationWanted = 187
        case authenticationFrame = 188
        case frameSent = 189
    }

    enum Status: UInt32 {
        case success = 0
        case failed = 1
        case noNetworks = 3
        case aborted = 4
        case partial = 8
    }

    /// Returns the event as an Ethernet frame, without the bus header.
    /// - Parameter own: address of the dongle.
    func frame(from own: BSSID) -> [UInt8] {
        var frame = own.bytes + own.bytes
        frame[6] |= 2
        frame.append(big: UInt16(0x886c))
        // The vendor header has a subtype, a length, a version, the OUI and the OUI's subtype.
        frame.append(big: UInt16(0x8001))
        frame.append(big: UInt16(clamping: 54 + data.count))
        frame += [0, 0x00, 0x10, 0x18]
        frame.append(big: UInt16(1))
        frame.append(big: UInt16(2))
        frame.append(big: flags)
        for number in [code.rawValue, status.rawValue, reason, 0] { frame.append(big: number) }
        frame.append(big: UInt32(clamping: data.count))
        frame += address?.bytes ?? Array(repeating: 0, count: 6)
        // Interface name in 16 bytes, interface number, and network number. Both numbers are equal here.
        frame += Array((interface == 0 ? "wl0" : "wl0.\(interface)").utf8).resized(to: 16)
        frame += [interface, interface]
        return frame + data
    }

    enum InterfaceRole: UInt8 {
        case accessPoint = 1
        /// Interface of the Wi-Fi Direct discovery device, which carries no data.
        case direct = 4
    }

    static func interface(_ number: UInt8, _ address: BSSID, _ role: InterfaceRole, isThere: Bool) -> Self {
        let (added, removed): (UInt8, UInt8) = (1, 2)
        let hasNoData = role == .direct
        return Self(
            code: .interface, address: address, interface: number,
            data: [hasNoData ? 0 : number, isThere ? added : removed, hasNoData ? 1 : 0, number, role.rawValue])
    }
}

/// Header of four bytes before each frame at the bulk endpoints.
enum FrameHeader {
    /// Returns a header with version 2, no priority and no further words.
    static func toHost(from interface: UInt8) -> [UInt8] { [0x20, 0, interface & 0xf, 0] }

    /// - Returns: the number of the driver's interface and the Ethernet frame in a transfer; nil if the transfer is too
    ///   short.
    static func frame(in transfer: ArraySlice<UInt8>) -> (interface: UInt8, frame: ArraySlice<UInt8>)? {
        guard let interface = transfer.little(2, as: UInt8.self), let words = transfer.little(3, as: UInt8.self) else {
            return nil
        }
        let frame = transfer.dropFirst(4 + 4 * Int(words))
        return frame.count > 14 ? (interface & 0xf, frame) : nil
    }
}
