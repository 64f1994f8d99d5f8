import CNetlink

/// A message from the kernel (netlink.h, `struct nlmsghdr`).
package struct NetlinkMessage {
    package let type: UInt16
    package let flags: UInt16
    package let sequence: UInt32
    package let port: UInt32
    package let payload: ArraySlice<UInt8>

    package static let headerLength = 16

    package func attributes(after count: Int) -> Attributes { Attributes(payload.dropFirst(netlinkAligned(count))) }

    package func has(_ flag: Int32) -> Bool { Int32(flags) & flag != 0 }
}

/// Messages of one datagram, up to the first truncated one.
package struct NetlinkDatagram: Sequence, IteratorProtocol {
    private var reader: ByteReader

    package init(_ bytes: [UInt8]) { reader = ByteReader(bytes[...]) }

    package mutating func next() -> NetlinkMessage? {
        guard let length = reader.read(UInt32.self), let type = reader.read(UInt16.self),
            let flags = reader.read(UInt16.self), let sequence = reader.read(UInt32.self),
            let port = reader.read(UInt32.self),
            let payload = reader.read(Int(clamping: length) - NetlinkMessage.headerLength)
        else { return nil }
        reader.skipPadding(after: payload.count)
        return NetlinkMessage(type: type, flags: flags, sequence: sequence, port: port, payload: payload)
    }
}

/// Final message of a request: acknowledgement, refusal or end of a dump.
package struct Acknowledgement {
    package let errno: Int32
    /// The kernel's error text, if any (`NLMSGERR_ATTR_MSG`).
    package let detail: String?

    package init?(_ message: NetlinkMessage) {
        switch Int32(message.type) {
        case NLMSG_ERROR, NLMSG_DONE: break
        default: return nil
        }
        var reader = ByteReader(message.payload)
        // A successful dump may end without an error number.
        guard let number = reader.read(Int32.self) ?? (Int32(message.type) == NLMSG_DONE ? 0 : nil) else { return nil }
        errno = number == .min ? .max : abs(number)
        if Int32(message.type) == NLMSG_ERROR {
            // Skips the request's header, or the whole request if the kernel lacks NETLINK_CAP_ACK.
            guard let length = reader.read(UInt32.self), reader.read(NetlinkMessage.headerLength - 4) != nil else {
                detail = nil
                return
            }
            let isCapped = message.has(NLM_F_CAPPED)
            _ = isCapped ? nil : reader.read(netlinkAligned(Int(clamping: length)) - NetlinkMessage.headerLength)
        }
        detail = message.has(NLM_F_ACK_TLVS) ? Attributes(reader.rest)[NLMSGERR_ATTR_MSG]?.string : nil
    }
}

/// A sequence of netlink attributes (netlink.h, `struct nlattr`), decoded in place. Input is untrusted: a truncated
/// attribute ends the sequence, and a value too short for its type is nil.
package struct Attributes: Sequence {
    private let bytes: ArraySlice<UInt8>

    package init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    /// Returns the first attribute of a type. The kernel sends each type once.
    package subscript(type: some RawRepresentable<UInt32>) -> AttributeValue? { self[Int(type.rawValue)] }

    package subscript(type: Int) -> AttributeValue? { first { $0.type == type }?.value }

    package func makeIterator() -> Iterator { Iterator(reader: ByteReader(bytes)) }

    package struct Iterator: IteratorProtocol {
        fileprivate var reader: ByteReader

        package mutating func next() -> (type: Int, value: AttributeValue)? {
            guard let length = reader.read(UInt16.self), let type = reader.read(UInt16.self),
                let payload = reader.read(Int(length) - Attributes.headerLength)
            else { return nil }
            reader.skipPadding(after: payload.count)
            return (Int(type & Attributes.typeMask), AttributeValue(bytes: payload))
        }
    }

    static let headerLength = 4
    /// Mask of the flags "nested" and "network byte order" (`NLA_TYPE_MASK`).
    private static let typeMask: UInt16 = 0x3fff
}

package struct AttributeValue {
    package let bytes: ArraySlice<UInt8>

    package func number<Number: FixedWidthInteger>(as _: Number.Type = Number.self) -> Number? {
        var reader = ByteReader(bytes)
        return reader.read(Number.self)
    }

    /// Returns an unsigned number, clamped to `Int` on 32-bit machines.
    package func count<Number: FixedWidthInteger & UnsignedInteger>(as _: Number.Type) -> Int? {
        guard let number = number(as: Number.self) else { return nil }
        return Int(clamping: number)
    }

    /// Text up to the first zero byte; nil if it is not valid UTF-8.
    package var string: String? { String(validating: bytes.prefix { $0 != 0 }, as: UTF8.self) }

    package var nested: Attributes { Attributes(bytes) }
}

/// Reads numbers and bytes from the front of a buffer. Returns nil at its end.
package struct ByteReader {
    package private(set) var rest: ArraySlice<UInt8>

    package init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    package mutating func read(_ count: Int) -> ArraySlice<UInt8>? {
        guard count >= 0, count <= rest.count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    /// Reads a number in host byte order, as netlink uses.
    package mutating func read<Number: FixedWidthInteger>(_: Number.Type) -> Number? {
        read(MemoryLayout<Number>.size).map { bytes in
            var number = Number.zero
            withUnsafeMutableBytes(of: &number) { $0.copyBytes(from: bytes) }
            return number
        }
    }

    /// Skips padding to a multiple of four bytes, if present.
    mutating func skipPadding(after count: Int) {
        rest = rest.dropFirst(netlinkAligned(count) - count)
    }
}

/// Rounds up to netlink's alignment of four bytes (netlink.h, `NLMSG_ALIGN` and `NLA_ALIGN`).
package func netlinkAligned(_ count: Int) -> Int { (count + 3) & ~3 }

extension Array where Element == UInt8 {
    /// Appends a number in host byte order.
    mutating func append(number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number) { append(contentsOf: $0) }
    }

    mutating func padToNetlinkAlignment() {
        append(contentsOf: repeatElement(0, count: netlinkAligned(count) - count))
    }
}
