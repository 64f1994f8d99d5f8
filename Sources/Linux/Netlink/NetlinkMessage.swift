import CNetlink

/// One message from the kernel (netlink.h, `struct nlmsghdr`).
struct NetlinkMessage {
    let type: UInt16
    let flags: UInt16
    let sequence: UInt32
    let port: UInt32
    let payload: ArraySlice<UInt8>

    static let headerLength = 16

    /// Everything that follows a fixed part of `count` bytes.
    func attributes(after count: Int) -> Attributes { Attributes(payload.dropFirst(netlinkAligned(count))) }

    func has(_ flag: Int32) -> Bool { Int32(flags) & flag != 0 }
}

/// The messages in what one receive returned. A message that claims more than there is ends them.
struct NetlinkDatagram: Sequence, IteratorProtocol {
    private var reader: ByteReader

    init(_ bytes: [UInt8]) { reader = ByteReader(bytes[...]) }

    mutating func next() -> NetlinkMessage? {
        guard let length = reader.take(UInt32.self), let type = reader.take(UInt16.self),
            let flags = reader.take(UInt16.self), let sequence = reader.take(UInt32.self),
            let port = reader.take(UInt32.self),
            let payload = reader.take(Int(clamping: length) - NetlinkMessage.headerLength)
        else { return nil }
        reader.skipPadding(after: payload.count)
        return NetlinkMessage(type: type, flags: flags, sequence: sequence, port: port, payload: payload)
    }
}

/// How the kernel ends what it was asked: an acknowledgement, a refusal or the end of a dump.
struct Acknowledgement {
    /// Zero for success.
    let errno: Int32
    /// The kernel's own text, where it has one (`NLMSGERR_ATTR_MSG`).
    let detail: String?

    init?(_ message: NetlinkMessage) {
        switch Int32(message.type) {
        case NLMSG_ERROR, NLMSG_DONE: break
        default: return nil
        }
        var reader = ByteReader(message.payload)
        // A dump that ended well may have no number.
        guard let number = reader.take(Int32.self) ?? (Int32(message.type) == NLMSG_DONE ? 0 : nil) else { return nil }
        errno = number == .min ? .max : abs(number)
        if Int32(message.type) == NLMSG_ERROR {
            // The request comes back: its header alone, or whole where the kernel does not know NETLINK_CAP_ACK.
            guard let length = reader.take(UInt32.self), reader.take(NetlinkMessage.headerLength - 4) != nil else {
                detail = nil
                return
            }
            let isCapped = message.has(NLM_F_CAPPED)
            _ = isCapped ? nil : reader.take(netlinkAligned(Int(clamping: length)) - NetlinkMessage.headerLength)
        }
        detail = message.has(NLM_F_ACK_TLVS) ? Attributes(reader.rest)[NLMSGERR_ATTR_MSG]?.string : nil
    }
}
