import CNetlink

/// A message to the kernel, complete but for what the socket adds: flags, sequence number and port.
struct NetlinkRequest {
    let type: UInt16
    /// The fixed part that the type demands, before the attributes.
    private let fixedPart: [UInt8]
    var attributes = AttributeWriter()
    /// Flags of the type's own.
    var flags: Int32 = 0

    init(type: UInt16, fixedPart: [UInt8]) {
        self.type = type
        self.fixedPart = fixedPart
    }

    /// A generic-netlink request (genetlink.h, `struct genlmsghdr`).
    init(family: UInt16, command: UInt8, version: UInt8 = 1) {
        self.init(type: family, fixedPart: [command, version, 0, 0])
    }

    func encoded(flags: Int32, sequence: UInt32, port: UInt32) -> [UInt8] {
        var body = fixedPart
        body.padToNetlinkAlignment()
        body.append(contentsOf: attributes.bytes)
        var message: [UInt8] = []
        message.reserveCapacity(NetlinkMessage.headerLength + body.count)
        message.append(number: UInt32(clamping: NetlinkMessage.headerLength + body.count))
        message.append(number: type)
        message.append(number: UInt16(truncatingIfNeeded: flags | self.flags))
        message.append(number: sequence)
        message.append(number: port)
        return message + body
    }
}
