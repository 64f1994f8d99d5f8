/// The centre of a channel's primary 20 MHz, in MHz.
public struct Frequency: Hashable, Sendable, Comparable {
    public let megahertz: Int

    public init(megahertz: Int) { self.megahertz = megahertz }

    /// The channel number as regulators and users count it (IEEE 802.11-2020, annex E), where there is one.
    public var channel: Int? {
        switch megahertz {
        case 2484: 14
        case 2412...2472 where (megahertz - 2407).isMultiple(of: 5): (megahertz - 2407) / 5
        case 5160...5885 where megahertz.isMultiple(of: 5): (megahertz - 5000) / 5
        case 5955...7115 where (megahertz - 5950).isMultiple(of: 5): (megahertz - 5950) / 5
        default: nil
        }
    }

    public var band: Band { megahertz < 3000 ? .twoPointFour : megahertz < 5950 ? .five : .six }

    public static func < (left: Self, right: Self) -> Bool { left.megahertz < right.megahertz }
}

extension Frequency: CustomStringConvertible {
    public var description: String { "\(megahertz) MHz" }
}

/// A Wi-Fi frequency band.
public enum Band: String, Sendable, CaseIterable, Comparable {
    case twoPointFour = "2.4 GHz"
    case five = "5 GHz"
    case six = "6 GHz"

    public static func < (left: Self, right: Self) -> Bool { left.order < right.order }

    private var order: Int {
        switch self {
        case .twoPointFour: 0
        case .five: 1
        case .six: 2
        }
    }
}
