/// How times read in a table or a sentence.
package enum Age {
    /// In its largest whole unit, nil below a second.
    package static func duration(milliseconds: Int64) -> String? {
        switch milliseconds / 1000 {
        case ..<1: nil
        case let seconds where seconds < 120: "\(seconds) s"
        case let seconds where seconds < 7200: "\(seconds / 60) min"
        case let seconds where seconds < 172_800: "\(seconds / 3600) h"
        case let seconds: "\(seconds / 86_400) d"
        }
    }

    /// A time in the future, after a clock was set, reads as now.
    package static func ago(milliseconds: Int64) -> String {
        duration(milliseconds: milliseconds).map { "\($0) ago" } ?? "just now"
    }
}
