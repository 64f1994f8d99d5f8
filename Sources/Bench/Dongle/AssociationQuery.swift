import AgentModel

/// SA query (IEEE 802.11-2020, 11.13): after an unprotected deauthentication, the station asks whether the access point
/// still has its keys. An access point that answers has the keys, so the deauthentication was forged.
struct AssociationQuery: Equatable {
    let accessPoint: BSSID
    private let end: Instant
    private(set) var nextWake: Instant
    /// Number of the last query; 0 before the first.
    private var asked: UInt16 = 0

    enum Effect: Equatable {
        case ask(UInt16)
        case lost
    }

    /// Time limit for an answer, and pause between queries: 1000 and 201 units of 1.024 ms, as in wpa_supplicant.
    private static let limit = Duration.milliseconds(1024)
    private static let pause = Duration.milliseconds(206)
    /// Category and action codes of SA query frames (IEEE 802.11-2020, 9.6.9).
    private static let category: UInt8 = 8
    private static let question: UInt8 = 0
    static let answer: [UInt8] = [category, 1]

    init(to accessPoint: BSSID, at now: Instant) {
        self.accessPoint = accessPoint
        (nextWake, end) = (now, now + Self.limit)
    }

    mutating func tick(at now: Instant) -> Effect? {
        guard now >= nextWake else { return nil }
        guard now < end else { return .lost }
        nextWake = min(now + Self.pause, end)
        asked += 1
        return .ask(asked)
    }

    /// Whether this management frame is the access point's answer to one of the queries.
    func isAnswered(by frame: ArraySlice<UInt8>) -> Bool {
        guard frame.bytes(10, 6) == accessPoint.bytes[...], frame.bytes(24, 2) == Self.answer[...] else { return false }
        return frame.little(26, as: UInt16.self).map { $0 > 0 && $0 <= asked } ?? false
    }

    /// Returns a query as an action frame (IEEE 802.11-2020, 9.3.3.13). The kernel encrypts it.
    static func frame(_ number: UInt16, from station: BSSID, to accessPoint: BSSID) -> [UInt8] {
        var frame: [UInt8] = [0xd0, 0, 0, 0] + accessPoint.bytes + station.bytes + accessPoint.bytes + [0, 0]
        frame += [category, question]
        frame.append(little: number)
        return frame
    }

    /// Whether the frame's reason code says that the sender does not know the station (6 or 7, IEEE 802.11-2020,
    /// 9.4.1.7).
    static func isOfAStranger(_ frame: ArraySlice<UInt8>) -> Bool {
        frame.little(24, as: UInt16.self).map { $0 == 6 || $0 == 7 } ?? false
    }
}
