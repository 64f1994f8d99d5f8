/// A D-Bus message (D-Bus specification, "Message Protocol").
public struct DBusMessage: Sendable, Equatable {
    /// Maximum length in bytes. D-Bus allows 128 MiB; BlueZ's list of all known devices takes about 100 kB.
    public static let longest = 1 << 20

    public enum Kind: UInt8, Sendable {
        case call = 1
        case answer = 2
        case failure = 3
        case signal = 4
    }

    public var kind: Kind
    public var wantsNoAnswer = false
    /// Serial number. Not 0 once the message is sent.
    public var serial: UInt32 = 0
    public var replySerial: UInt32?
    public var path: String?
    public var interface: String?
    public var member: String?
    public var errorName: String?
    public var destination: String?
    public var sender: String?
    public var body: [DBusValue]

    public init(
        _ kind: Kind, path: String? = nil, interface: String? = nil, member: String? = nil, destination: String? = nil,
        body: [DBusValue] = []
    ) {
        self.kind = kind
        self.path = path
        self.interface = interface
        self.member = member
        self.destination = destination
        self.body = body
    }

    public static func answer(to call: DBusMessage, _ body: [DBusValue] = []) -> DBusMessage {
        var message = DBusMessage(.answer, destination: call.sender, body: body)
        message.replySerial = call.serial
        return message
    }

    /// - Parameter name: name of the error, as in `org.bluez.Error.Failed`.
    public static func failure(of call: DBusMessage, _ name: String, _ text: String) -> DBusMessage {
        var message = DBusMessage(.failure, destination: call.sender, body: [.string(text)])
        message.replySerial = call.serial
        message.errorName = name
        return message
    }
}

extension DBusMessage {
    private static let fixedLength = 16

    private enum Field: UInt8 {
        case path = 1
        case interface = 2
        case member = 3
        case errorName = 4
        case replySerial = 5
        case destination = 6
        case sender = 7
        case signature = 8
    }

    /// - Parameter bytes: received bytes, from the beginning of a message.
    /// - Returns: the length of the message in bytes; nil if more bytes are needed to determine it.
    static func length(of bytes: ArraySlice<UInt8>) throws(DBusFault) -> Int? {
        guard bytes.count >= fixedLength else { return nil }
        let isBigEndian = try isBigEndian(bytes)
        var reader = DBusReader(Array(bytes.prefix(fixedLength)), from: 4, isBigEndian: isBigEndian)
        let body = Int(try reader.integer(UInt32.self))
        _ = try reader.integer(UInt32.self)
        let fields = Int(try reader.integer(UInt32.self))
        guard body <= longest, fields <= longest else { throw .tooLong }
        let length = (fixedLength + fields + 7) / 8 * 8 + body
        guard length <= longest else { throw .tooLong }
        return length
    }

    private static func isBigEndian(_ bytes: ArraySlice<UInt8>) throws(DBusFault) -> Bool {
        switch bytes.first {
        case UInt8(ascii: "l"): return false
        case UInt8(ascii: "B"): return true
        default: throw .badHeader
        }
    }

    public init(_ bytes: [UInt8]) throws(DBusFault) {
        guard bytes.count >= Self.fixedLength, let length = try Self.length(of: bytes[...]), length == bytes.count
        else {
            throw .truncated
        }
        guard bytes[3] == 1, let kind = Kind(rawValue: bytes[1]) else { throw .badHeader }
        let isBigEndian = try Self.isBigEndian(bytes[...])
        self.init(kind)
        wantsNoAnswer = bytes[2] & 1 == 1
        var reader = DBusReader(bytes, from: 8, isBigEndian: isBigEndian)
        serial = try reader.integer(UInt32.self)
        guard serial != 0, case .array(_, let fields)? = try reader.values("a(yv)").first else { throw .badHeader }
        try reader.align(to: 8)
        let signature = try readFields(fields)
        body = try reader.values(signature)
        guard reader.isAtEnd else { throw .badValue }
    }

    /// - Returns: the signature of the body; empty if it has none.
    private mutating func readFields(_ fields: [DBusValue]) throws(DBusFault) -> String {
        var signature = ""
        for case .structure(let members) in fields {
            guard members.count == 2, case .byte(let code) = members[0] else { throw .badHeader }
            switch (Field(rawValue: code), members[1].unwrapped) {
            case (.path, .objectPath(let text)): path = text
            case (.interface, .string(let text)): interface = text
            case (.member, .string(let text)): member = text
            case (.errorName, .string(let text)): errorName = text
            case (.replySerial, .uint32(let number)): replySerial = number
            case (.destination, .string(let text)): destination = text
            case (.sender, .string(let text)): sender = text
            case (.signature, .signature(let text)): signature = text
            // The specification requires unknown fields to be ignored. Known fields have one type.
            case (nil, _): break
            default: throw .badHeader
            }
        }
        return signature
    }

    public func encoded() -> [UInt8] {
        var content = DBusWriter()
        for value in body { content.put(value) }
        var fields: [DBusValue] = []
        func add(_ field: Field, _ value: DBusValue?) {
            if let value { fields.append(.structure([.byte(field.rawValue), .variant(value)])) }
        }
        add(.path, path.map(DBusValue.objectPath))
        add(.interface, interface.map(DBusValue.string))
        add(.member, member.map(DBusValue.string))
        add(.errorName, errorName.map(DBusValue.string))
        add(.replySerial, replySerial.map(DBusValue.uint32))
        add(.destination, destination.map(DBusValue.string))
        add(.sender, sender.map(DBusValue.string))
        let signature = body.map(\.signature).joined()
        if !signature.isEmpty { add(.signature, .signature(signature)) }
        var writer = DBusWriter()
        writer.append([UInt8(ascii: "l"), kind.rawValue, wantsNoAnswer ? 1 : 0, 1])
        writer.put(UInt32(clamping: content.bytes.count))
        writer.put(serial)
        writer.put(.array(of: "(yv)", fields))
        writer.align(to: 8)
        writer.append(content.bytes)
        return writer.bytes
    }
}
