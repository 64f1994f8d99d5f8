import AgentModel
import DNS

/// The device's DNS-SD records (RFC 6763): service `_altnet._tcp` with its port, and a TXT record with protocol
/// version, device ID and name.
struct ServiceAnnouncement: Sendable {
    private let instance: DNSName
    private let host: DNSName
    private let port: UInt16
    private let text: [[UInt8]]

    /// Times to live of host records and of other records, in seconds (RFC 6762, 10).
    private static let (hostTime, otherTime): (UInt32, UInt32) = (120, 4500)
    /// Time to live in answers to legacy queries, in seconds. Such clients get no updates (RFC 6762, 6.7).
    private static let legacyTime: UInt32 = 10
    /// Name that lists the services of a link (RFC 6763, 9).
    private static let everyService = DNSName("_services._dns-sd._udp.local")

    init(deviceId: String, name: DeviceName? = nil, port: Int) {
        self.port = UInt16(clamping: port)
        let name = name.map { ["name=\($0.prefix(ofBytes: 250))"] } ?? []
        text = (["v=1", "id=\(deviceId)"] + name).map { Array($0.utf8.prefix(255)) }
        let id = deviceId.utf8.prefix(40)
        instance = Self.name([Array("altnet ".utf8) + id], in: .altnetDevices)
        let letters = id.map { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                byte
            default: UInt8(ascii: "-")
            }
        }
        host = Self.name([Array("altnet-".utf8) + letters], in: DNSName("local") ?? .altnetDevices)
    }

    private static func name(_ labels: [[UInt8]], in parent: DNSName) -> DNSName {
        DNSName(labels: labels + parent.labels) ?? parent
    }

    private struct Record {
        let name: DNSName
        let type: DNSRecordType
        let time: UInt32
        let data: [UInt8]
        /// Whether no other responder may have records of this name and type.
        var isUnique = true
    }

    private func records(address: [UInt8]) -> [Record] {
        var records = [
            Record(
                name: .altnetDevices, type: .pointer, time: Self.otherTime, data: instance.bytes, isUnique: false),
            Record(
                name: instance, type: .service, time: Self.hostTime,
                data: [0, 0, 0, 0] + port.bytes + host.bytes),
            Record(
                name: instance, type: .text, time: Self.otherTime, data: text.flatMap { [UInt8($0.count)] + $0 }),
            Record(name: host, type: .ipv4, time: Self.hostTime, data: address),
        ]
        if let everyService = Self.everyService {
            records.append(
                Record(
                    name: everyService, type: .pointer, time: Self.otherTime, data: DNSName.altnetDevices.bytes,
                    isUnique: false))
        }
        return records
    }

    /// Returns an unsolicited announcement, or a goodbye when the device leaves.
    /// - Parameter address: IPv4 address of the sending interface, 4 bytes.
    func announcement(address: [UInt8], isGoodbye: Bool = false) -> [UInt8] {
        let records = records(address: address).filter { $0.name != Self.everyService }
        return Self.message(id: 0, questions: [], answers: records, further: [], time: isGoodbye ? 0 : nil)
    }

    /// Returns the answer to a query.
    /// - Parameter isLegacy: the query's source port is not 5353. The answer then repeats the question (RFC 6762, 6.7).
    /// - Returns: nil if no record matches.
    func answer(to query: DNSMessage, isLegacy: Bool, address: [UInt8]) -> [UInt8]? {
        guard !query.isResponse else { return nil }
        /// Query type ANY (RFC 1035, 3.2.3).
        let any = DNSRecordType(rawValue: 255)
        let all = records(address: address)
        let answers = all.filter { record in
            query.questions.contains { $0.name == record.name && ($0.type == record.type || $0.type == any) }
        }
        guard !answers.isEmpty else { return nil }
        let further = all.filter { record in
            record.name != Self.everyService && !answers.contains { $0.name == record.name && $0.type == record.type }
        }
        return Self.message(
            id: isLegacy ? query.id : 0, questions: isLegacy ? query.questions : [], answers: answers,
            further: further, time: isLegacy ? Self.legacyTime : nil)
    }

    /// - Parameter time: upper limit of the times to live, in seconds.
    private static func message(
        id: UInt16, questions: [DNSQuestion], answers: [Record], further: [Record], time: UInt32?
    ) -> [UInt8] {
        let counts = [questions.count, answers.count, 0, further.count].map { UInt16(clamping: $0) }
        // The flags mean: authoritative response (RFC 6762, 18).
        var bytes = id.bytes + UInt16(0x8400).bytes + counts.flatMap(\.bytes)
        for question in questions {
            bytes += question.name.bytes + question.type.rawValue.bytes + UInt16(1).bytes
        }
        for record in answers + further {
            // Set the cache-flush bit for unique records, except in answers to legacy queries (RFC 6762, 10.2).
            let flush: UInt16 = record.isUnique && questions.isEmpty ? 0x8000 : 0
            let time = min(record.time, time ?? .max)
            bytes += record.name.bytes + record.type.rawValue.bytes + (flush | 1).bytes
            bytes += UInt16(time >> 16).bytes + UInt16(truncatingIfNeeded: time).bytes
            bytes += UInt16(record.data.count).bytes + record.data
        }
        return bytes
    }
}

extension DNSName {
    /// Name in uncompressed wire format.
    fileprivate var bytes: [UInt8] { labels.flatMap { [UInt8($0.count)] + $0 } + [0] }
}

extension UInt16 {
    fileprivate var bytes: [UInt8] { [UInt8(self >> 8), UInt8(truncatingIfNeeded: self)] }
}
