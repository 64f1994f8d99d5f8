/// Says hello as a client without a name and without rights, then pings (MQTT 3.1.1). A server that refuses it lives too.
struct MQTTConversation: Conversation {
    /// At most so much of one packet is read: what a server has to say here has 2 to 5 bytes, in MQTT 5 some more.
    static let longestPacket = 1024

    let hello: [UInt8]
    /// PINGREQ (3.12).
    let ping: [UInt8] = [0xc0, 0]
    /// CONNACK (3.2), then PINGRESP (3.13).
    private var awaited: UInt8 = 0x20
    private var packet: [UInt8] = []

    /// - Parameter interval: the server is told twice that, and gives the client up after thrice (3.1.2.10).
    init(pingEvery interval: Duration) {
        let keepAlive = UInt16(clamping: interval.components.seconds * 2)
        // 3.1.2: the protocol's name and level 4, clean session, and no client identifier.
        hello =
            [0x10, 12, 0, 4] + Array("MQTT".utf8)
            + [4, 0b0000_0010, UInt8(keepAlive >> 8), UInt8(truncatingIfNeeded: keepAlive), 0, 0]
    }

    mutating func hear(_ bytes: some Sequence<UInt8>) throws(UnexpectedAnswer) -> Bool {
        var isAnswered = false
        for byte in bytes {
            packet.append(byte)
            guard packet.first == awaited else { throw UnexpectedAnswer() }
            guard let length = try Self.length(of: packet), packet.count == length else { continue }
            packet.removeAll(keepingCapacity: true)
            awaited = 0xd0
            isAnswered = true
        }
        return isAnswered
    }

    /// The length of a whole packet, once it can be told (2.2.3).
    private static func length(of packet: [UInt8]) throws(UnexpectedAnswer) -> Int? {
        var rest = 0
        for (index, byte) in packet.dropFirst().prefix(4).enumerated() {
            rest |= Int(byte & 0x7f) << (7 * index)
            guard byte & 0x80 != 0 else {
                guard rest <= longestPacket else { throw UnexpectedAnswer() }
                return 2 + index + rest
            }
        }
        guard packet.count < 5 else { throw UnexpectedAnswer() }
        return nil
    }
}
