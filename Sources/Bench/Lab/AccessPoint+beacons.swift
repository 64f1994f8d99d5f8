import AgentModel
import Glibc
import Linux

/// Beacons that no access point would send, from the radio of one, on its channel: the kernel refuses to send bad ones
/// for hostapd, so they go out through an interface in monitor mode, frame by frame.
public struct CraftedBeacons: Sendable {
    private let socket: FileDescriptor
    private let index: Int32

    /// To be called in the radio's namespace.
    init(radio: Radio, name: String, log: String) throws(LabError) {
        try Program.run("iw", ["dev", radio.interface, "interface", "add", name, "type", "monitor"], log: log)
        try NetworkInterface(name).setUp(true)
        index = Int32(clamping: if_nametoindex(name))
        socket = try FileDescriptor(
            Glibc.socket(AF_PACKET, Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0),
            attempt: "open a packet socket")
    }

    /// Sends one beacon.
    ///
    /// - Parameters:
    ///   - elements: everything behind the fixed fields, as it is: names, rates, security, in order or not.
    ///   - interval: between beacons, as it says, in units of 1.024 ms.
    public func send(from bssid: BSSID, elements: [UInt8], interval: UInt16 = 100) throws(LabError) {
        // Radiotap without a field; a beacon to all (IEEE 802.11-2020, 9.3.3.2).
        let radiotap: [UInt8] = [0, 0, 8, 0, 0, 0, 0, 0]
        let header: [UInt8] =
            [0x80, 0, 0, 0] + [UInt8](repeating: 0xff, count: 6) + bssid.bytes + bssid.bytes + [0, 0]
        let fields = [UInt8](repeating: 0, count: 8) + [UInt8(interval & 0xff), UInt8(interval >> 8), 0x01, 0x00]
        let frame = radiotap + header + fields + elements
        // struct sockaddr_ll (packet(7)).
        var address = [UInt8](repeating: 0, count: 20)
        address[0] = UInt8(AF_PACKET)
        withUnsafeBytes(of: index) { address.replaceSubrange(4..<8, with: $0) }
        let sent = address.withUnsafeBytes { bytes in
            sendto(
                socket.number, frame, frame.count, 0, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self),
                socklen_t(bytes.count))
        }
        guard sent == frame.count else { throw .lastCall("send a beacon") }
    }
}

extension AccessPoint {
    /// A sender of crafted beacons on the channel that the access point is on, which has to be on.
    public func craftedBeacons() throws(LabError) -> CraftedBeacons {
        try namespace.enter { () throws(LabError) in
            try CraftedBeacons(radio: radio, name: "craft\(number)", log: "\(directory)/commands.log")
        }
    }
}
