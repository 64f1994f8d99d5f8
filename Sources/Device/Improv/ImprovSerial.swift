import AgentModel

/// Packets on a serial line (Improv 2.4, "Improv via Serial"): `IMPROV`, version, type, length, data, checksum. Between them
/// may be anything, such as a console's output.
public struct ImprovSerialReader: Sendable {
    static let header = Array("IMPROV".utf8)
    static let version: UInt8 = 1

    enum PacketType: UInt8 {
        case state = 1
        case error = 2
        case command = 3
        case result = 4
    }

    private var bytes: [UInt8] = []

    public init() {}

    /// - Returns: the commands that are complete by now, and what was wrong with others, in their order.
    public mutating func add(_ more: some Sequence<UInt8>) -> [Result<ImprovCommand, ImprovError>] {
        bytes += more
        var found: [Result<ImprovCommand, ImprovError>] = []
        while let packet = takePacket() {
            if let command = Self.command(packet) { found.append(command) }
        }
        return found
    }

    /// - Returns: the next packet whose header, version and checksum are right or only its checksum is wrong.
    private mutating func takePacket() -> ArraySlice<UInt8>? {
        while true {
            dropToHeader()
            let fixed = Self.header.count + 3
            guard bytes.count >= fixed else { return nil }
            guard bytes[Self.header.count] == Self.version else {
                bytes.removeFirst()
                continue
            }
            let length = fixed + Int(bytes[fixed - 1]) + 1
            guard bytes.count >= length else { return nil }
            let packet = bytes.prefix(length)
            // Where the checksum is wrong, a byte may be missing: a packet may begin within.
            bytes.removeFirst(checksum(packet.dropLast()) == packet.last ? length : 1)
            return packet
        }
    }

    /// Drops what cannot be the beginning of a packet.
    private mutating func dropToHeader() {
        let start = bytes.indices.first {
            bytes[$0...].prefix(Self.header.count).elementsEqual(Self.header.prefix(bytes.count - $0))
        }
        bytes.removeFirst(start ?? bytes.count)
    }

    /// - Returns: nil for what a device says, which a line may send back.
    private static func command(_ packet: ArraySlice<UInt8>) -> Result<ImprovCommand, ImprovError>? {
        let type = PacketType(rawValue: packet[packet.startIndex + header.count + 1])
        guard type == .command || type == nil else { return nil }
        guard type != nil, checksum(packet.dropLast()) == packet.last else { return .failure(.invalidPacket) }
        let data = packet.dropFirst(header.count + 3).dropLast()
        guard let number = data.first, let length = data.dropFirst().first, Int(length) == data.count - 2 else {
            return .failure(.invalidPacket)
        }
        return Result { () throws(ImprovError) in
            try ImprovCommand(number: number, data: data.dropFirst(2), medium: .serial)
        }
    }
}

/// What the device sends over a serial line.
public enum ImprovSerialPacket {
    public static func state(_ state: ImprovState) -> [UInt8] { packet(.state, [state.rawValue]) }
    public static func error(_ error: ImprovError) -> [UInt8] { packet(.error, [error.rawValue]) }

    /// A result of more than 253 bytes has the last of its texts left out: the packet's own length counts two bytes more.
    public static func result(_ result: ImprovResult) -> [UInt8] {
        var result = result
        while result.payload.count > 255 { result = ImprovResult(result.command, Array(result.texts.dropLast())) }
        return packet(.result, result.payload)
    }

    /// With a line feed after it, so that a terminal begins a new line.
    private static func packet(_ type: ImprovSerialReader.PacketType, _ data: [UInt8]) -> [UInt8] {
        let packet =
            ImprovSerialReader.header + [ImprovSerialReader.version, type.rawValue, UInt8(clamping: data.count)] + data
        return packet + [checksum(packet), UInt8(ascii: "\n")]
    }
}
