/// Formats times for tables and sentences.
package enum Age {
    /// Returns the duration in its largest whole unit; nil below one second.
    package static func duration(milliseconds: Int64) -> String? {
        switch milliseconds / 1000 {
        case ..<1: nil
        case let seconds where seconds < 120: "\(seconds) s"
        case let seconds where seconds < 7200: "\(seconds / 60) min"
        case let seconds where seconds < 172_800: "\(seconds / 3600) h"
        case let seconds: "\(seconds / 86_400) d"
        }
    }

    /// Returns "... ago", or "just now" below one second and for a time in the future (after a clock change).
    package static func ago(milliseconds: Int64) -> String {
        duration(milliseconds: milliseconds).map { "\($0) ago" } ?? "just now"
    }
}
