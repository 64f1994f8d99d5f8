/// Parser for a serial line (Improv 2.4, "Improv via Serial"). A packet has `IMPROV`, version, type, length, data and
/// checksum. Skips other bytes between packets, such as console output.
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

    /// - Returns: results of the packets that these bytes complete, in their order.
    public mutating func add(_ more: some Sequence<UInt8>) -> [Result<ImprovCommand, ImprovError>] {
        bytes += more
        var found: [Result<ImprovCommand, ImprovError>] = []
        while let packet = nextPacket() {
            if let command = Self.command(packet) { found.append(command) }
        }
        return found
    }

    /// - Returns: the next packet with a valid header and version. Its checksum may be wrong.
    private mutating func nextPacket() -> ArraySlice<UInt8>? {
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
            // After a wrong checksum, drops only one byte. If bytes were lost, the next packet begins inside this one.
            bytes.removeFirst(checksum(packet.dropLast()) == packet.last ? length : 1)
            return packet
        }
    }

    /// Drops bytes that cannot begin a packet.
    private mutating func dropToHeader() {
        let start = bytes.indices.first {
            bytes[$0...].prefix(Self.header.count).elementsEqual(Self.header.prefix(bytes.count - $0))
        }
        bytes.removeFirst(start ?? bytes.count)
    }

    /// - Returns: nil for packets of the device, because a serial line may echo them.
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

public enum ImprovSerialPacket {
    public static func state(_ state: ImprovState) -> [UInt8] { packet(.state, [state.rawValue]) }
    public static func error(_ error: ImprovError) -> [UInt8] { packet(.error, [error.rawValue]) }

    /// Drops texts at the end until the payload has at most 255 bytes, the limit of the packet's length field.
    public static func result(_ result: ImprovResult) -> [UInt8] {
        var result = result
        while result.payload.count > 255 { result = ImprovResult(result.command, Array(result.texts.dropLast())) }
        return packet(.result, result.payload)
    }

    /// Appends a line feed, so that a terminal begins a new line.
    private static func packet(_ type: ImprovSerialReader.PacketType, _ data: [UInt8]) -> [UInt8] {
        let packet =
            ImprovSerialReader.header + [ImprovSerialReader.version, type.rawValue, UInt8(clamping: data.count)] + data
        return packet + [checksum(packet), UInt8(ascii: "\n")]
    }
}
