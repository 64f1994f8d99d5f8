import AppProtocol

extension Wording {
    /// `2026-02-03` in UTC.
    static func date(seconds: UInt32) -> String { String(Timestamp(seconds: seconds).description.prefix(10)) }

    /// A bar of eight places for a share from 0 to 1.
    static func bar(_ share: Double, _ style: Style) -> String {
        let count = min(max(Int((share * 8).rounded()), 0), 8)
        return style.isUnicode
            ? String(repeating: "█", count: count) + String(repeating: "░", count: 8 - count)
            : String(repeating: "#", count: count) + String(repeating: ".", count: 8 - count)
    }

    /// A number of years as a person says it.
    static func years(_ years: Double) -> String {
        switch years {
        case ..<0.1: "less than two months"
        case ..<10: "\(decimal(years)) years"
        case ..<1000: "\(Int(years)) years"
        default: "more than 1000 years"
        }
    }

    /// A number of bytes with three digits or so.
    static func bytes(_ count: Double) -> String {
        switch count {
        case ..<1024: "\(Int(count)) B"
        case ..<1_048_576: "\(decimal(count / 1024)) KiB"
        case ..<1_073_741_824: "\(decimal(count / 1_048_576)) MiB"
        default: "\(decimal(count / 1_073_741_824)) GiB"
        }
    }

    /// With one digit behind the point, where that says something.
    static func decimal(_ number: Double) -> String {
        guard number < 100 else { return number < 1e15 ? "\(Int(number))" : "more than 10^15" }
        return "\((number * 10).rounded() / 10)"
    }
}
