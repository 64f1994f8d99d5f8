import AgentModel
import CNetlink

/// Whoever has an address on a link, as the kernel knows it from ARP or neighbour discovery (`RTM_NEWNEIGH`).
struct Neighbour: Hashable {
    let key: Key
    let state: State

    struct Key: Hashable {
        /// The interface.
        let index: Int
        let address: IPAddress
    }

    /// neighbour.h, `NUD_*`.
    enum State: UInt16 {
        /// Nobody has asked, or is asking.
        case none = 0x00
        case incomplete = 0x01
        /// It has answered lately.
        case reachable = 0x02
        /// It has answered once, and has not been asked since.
        case stale = 0x04
        case delay = 0x08
        case probe = 0x10
        /// It does not answer.
        case failed = 0x20
        /// What follows is known without asking.
        case noARP = 0x40
        case permanent = 0x80

        /// Whether the kernel knows a hardware address to ask.
        var hasHardwareAddress: Bool {
            switch self {
            case .reachable, .stale, .delay, .probe: true
            case .none, .incomplete, .failed, .noARP, .permanent: false
            }
        }

        /// Whether it is known without asking, so that asking would only make it forgotten.
        var isFixed: Bool { self == .noARP || self == .permanent }
    }
}

extension Neighbour {
    /// Reads `struct ndmsg` and its attributes. Who is answered for (`NTF_PROXY`) is no neighbour.
    init?(_ payload: ArraySlice<UInt8>) {
        var reader = ByteReader(payload)
        guard let family = reader.take(UInt8.self).flatMap(AddressFamily.init),
            reader.take(UInt8.self) != nil, reader.take(UInt16.self) != nil,  // Padding.
            let index = reader.take(Int32.self), index > 0,
            let state = reader.take(UInt16.self).flatMap(State.init), let flags = reader.take(UInt8.self),
            Int32(flags) & NTF_PROXY == 0, reader.take(UInt8.self) != nil
        else { return nil }
        let attributes = Attributes(reader.rest)
        guard let bytes = attributes[NDA_DST]?.bytes, bytes.count == family.byteCount,
            let address = IPAddress(bytes: bytes)
        else { return nil }
        self.init(key: Key(index: Int(index), address: address), state: state)
    }
}

extension NetlinkRequest {
    /// Has the kernel ask a neighbour whose hardware address it knows, at once (neighbour.c, `neigh_timer_handler`).
    static func probe(_ key: Neighbour.Key) -> NetlinkRequest { neighbour(key, state: .probe, flags: 0) }

    /// Has the kernel ask the whole link who has an address (neighbour.c, `neigh_event_send`).
    static func resolve(_ key: Neighbour.Key) -> NetlinkRequest {
        var request = neighbour(key, state: .none, flags: UInt8(NTF_USE))
        request.flags = NLM_F_CREATE
        return request
    }

    private static func neighbour(_ key: Neighbour.Key, state: Neighbour.State, flags: UInt8) -> NetlinkRequest {
        var header: [UInt8] = [key.address.family.number, 0, 0, 0]  // Family and padding.
        header.append(number: Int32(clamping: key.index))
        header.append(number: state.rawValue)
        header += [flags, 0]  // And the type, which only answers have.
        var request = NetlinkRequest(type: UInt16(RTM_NEWNEIGH), fixedPart: header)
        request.attributes.put(NDA_DST, bytes: key.address.bytes)
        return request
    }
}
