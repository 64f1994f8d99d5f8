import AgentModel
import DNS

/// A record as a name server writes it.
struct WrittenRecord {
    let name: DNSName
    let type: DNSRecordType
    var timeToLive: UInt32 = 60
    let data: [UInt8]

    static func address(_ name: DNSName, _ text: String, timeToLive: UInt32 = 60) -> WrittenRecord {
        let address = IPAddress(text)
        let type: DNSRecordType = address?.isIPv4 == true ? .ipv4 : .ipv6
        return WrittenRecord(name: name, type: type, timeToLive: timeToLive, data: address?.bytes ?? [])
    }

    static func alias(_ name: DNSName, to other: DNSName, timeToLive: UInt32 = 60) -> WrittenRecord {
        WrittenRecord(name: name, type: .alias, timeToLive: timeToLive, data: other.written)
    }

    fileprivate var bytes: [UInt8] {
        let life = (0..<4).reversed().map { UInt8(truncatingIfNeeded: timeToLive >> (8 * $0)) }
        return name.written + [UInt8(type.rawValue >> 8), UInt8(type.rawValue & 0xff), 0, 1] + life
            + [UInt8(data.count >> 8), UInt8(data.count & 0xff)] + data
    }
}

extension DNSName {
    var written: [UInt8] { labels.flatMap { [UInt8($0.count)] + $0 } + [0] }

    static func test(_ text: String) -> DNSName { DNSName(text) ?? DNSName(known: "broken") }
}

extension DNSMessage {
    /// The answer to this query.
    func answer(
        _ records: [WrittenRecord] = [], code: UInt8 = 0, isTruncated: Bool = false, id: UInt16? = nil,
        question: DNSQuestion? = nil, additional: [WrittenRecord] = []
    ) -> [UInt8] {
        let id = id ?? self.id
        var bytes: [UInt8] = [UInt8(id >> 8), UInt8(id & 0xff), isTruncated ? 0x83 : 0x81, 0x80 | code, 0, 1]
        bytes += [UInt8(records.count >> 8), UInt8(records.count & 0xff), 0, 0, 0, UInt8(additional.count)]
        let asked = question ?? questions[0]
        bytes += asked.name.written + [UInt8(asked.type.rawValue >> 8), UInt8(asked.type.rawValue & 0xff), 0, 1]
        return bytes + records.flatMap(\.bytes) + additional.flatMap(\.bytes)
    }

    /// The answer with those of the addresses that are asked for.
    func answer(addresses: String..., timeToLive: UInt32 = 60) -> [UInt8] {
        let records = addresses.map { WrittenRecord.address(questions[0].name, $0, timeToLive: timeToLive) }
        return answer(records.filter { $0.type == questions[0].type })
    }
}
