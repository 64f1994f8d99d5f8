#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A moment on the device's wall clock in UTC, sent as RFC 3339 with milliseconds: `2026-02-03T04:05:06.789Z`.
///
/// The clock of a board without a battery is wrong until the board is online. Order events by sequence numbers or
/// monotonic times instead.
public struct Timestamp: Hashable, Sendable, Comparable {
    /// Milliseconds since 1970, within the years 1970 to 9999.
    public let millisecondsSince1970: Int64

    /// Creates a timestamp. Clamps the time to the years 1970 to 9999.
    public init(millisecondsSince1970 milliseconds: Int64) {
        millisecondsSince1970 = min(max(milliseconds, 0), 253_402_300_799_999)
    }

    /// The current time of the system's clock, rounded down to milliseconds.
    public static var now: Timestamp {
        Timestamp(millisecondsSince1970: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)))
    }

    public static func < (left: Self, right: Self) -> Bool {
        left.millisecondsSince1970 < right.millisecondsSince1970
    }
}

extension Timestamp: CustomStringConvertible {
    public var description: String {
        let (days, milliseconds) = millisecondsSince1970.quotientAndRemainder(dividingBy: 86_400_000)
        let (year, month, day) = Self.date(days: days)
        let (seconds, fraction) = milliseconds.quotientAndRemainder(dividingBy: 1000)
        let date = "\(Self.padded(year, 4))-\(Self.padded(month, 2))-\(Self.padded(day, 2))"
        let time = [seconds / 3600, seconds / 60 % 60, seconds % 60].map { Self.padded($0, 2) }.joined(separator: ":")
        return "\(date)T\(time).\(Self.padded(fraction, 3))Z"
    }

    /// Reads the format of `description`, with a fraction of zero to nine digits.
    public init?(_ text: some StringProtocol) {
        let text = Array(text.utf8)
        func number(_ range: Range<Int>) -> Int64? {
            guard text[range].allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            return text[range].reduce(0) { $0 * 10 + Int64($1 - 0x30) }
        }
        guard (20...30).contains(text.count), text[4] == UInt8(ascii: "-"), text[7] == UInt8(ascii: "-"),
            text[10] == UInt8(ascii: "T"), text[13] == UInt8(ascii: ":"), text[16] == UInt8(ascii: ":"),
            text.last == UInt8(ascii: "Z"),
            let year = number(0..<4), let month = number(5..<7), let day = number(8..<10), let hour = number(11..<13),
            let minute = number(14..<16), let second = number(17..<19),
            year >= 1970, (1...12).contains(month), day >= 1, hour < 24, minute < 60, second < 60
        else { return nil }
        let days = Self.days(year: year, month: month, day: day)
        guard Self.date(days: days) == (year, month, day) else { return nil }
        var milliseconds: Int64 = 0
        if text.count > 20 {
            guard text[19] == UInt8(ascii: "."), text.count > 21, let fraction = number(20..<text.count - 1) else {
                return nil
            }
            let digits = text.count - 21
            milliseconds = digits < 3 ? fraction * power(10, 3 - digits) : fraction / power(10, digits - 3)
        }
        self.init(millisecondsSince1970: (days * 86_400 + hour * 3600 + minute * 60 + second) * 1000 + milliseconds)
    }

    private static func padded(_ number: Int64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    /// Returns the proleptic Gregorian date `days` after 1970-01-01, by 400-year eras that start in March.
    private static func date(days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }

    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = year / 400
        let yearOfEra = year % 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}

private func power(_ base: Int64, _ exponent: Int) -> Int64 { (0..<exponent).reduce(1) { value, _ in value * base } }

extension Timestamp: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let timestamp = Timestamp(try container.decode(String.self)) else {
            throw decoder.malformed("is not a UTC time such as 2026-02-03T04:05:06.789Z")
        }
        self = timestamp
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
