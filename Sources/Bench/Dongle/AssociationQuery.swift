import AgentModel

/// After an unprotected deauthentication, asks the access point whether it still has the station's keys (SA query, IEEE
/// 802.11-2020, 11.13). An access point that has the keys answers, so the frame was forged.
struct AssociationQuery: Equatable {
    let accessPoint: BSSID
    private let end: Instant
    private(set) var nextWake: Instant
    /// Number of the last query. The first is 1.
    private var asked: UInt16 = 0

    enum Effect: Equatable {
        case ask(UInt16)
        case lost
    }

    /// Time limits of the query: 1000 and 201 units of 1.024 ms, like wpa_supplicant.
    private static let limit = Duration.milliseconds(1024)
    private static let pause = Duration.milliseconds(206)
    /// SA query action frames (IEEE 802.11-2020, 9.6.9).
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

    /// Returns a query as an action frame (9.3.3.13). The kernel encrypts it.
    static func frame(_ number: UInt16, from station: BSSID, to accessPoint: BSSID) -> [UInt8] {
        var frame: [UInt8] = [0xd0, 0, 0, 0] + accessPoint.bytes + station.bytes + accessPoint.bytes + [0, 0]
        frame += [category, question]
        frame.append(little: number)
        return frame
    }

    /// Whether the frame's reason is that the sender is unknown (6 or 7, 9.4.1.7).
    static func isOfAStranger(_ frame: ArraySlice<UInt8>) -> Bool {
        frame.little(24, as: UInt16.self).map { $0 == 6 || $0 == 7 } ?? false
    }
}
