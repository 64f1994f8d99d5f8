/// Formats durations for tables and sentences.
package enum Age {
    /// Returns the duration as a whole number of seconds, minutes, hours or days; nil below one second.
    package static func duration(milliseconds: Int64) -> String? {
        switch milliseconds / 1000 {
        case ..<1: nil
        case let seconds where seconds < 120: "\(seconds) s"
        case let seconds where seconds < 7200: "\(seconds / 60) min"
        case let seconds where seconds < 172_800: "\(seconds / 3600) h"
        case let seconds: "\(seconds / 86_400) d"
        }
    }

    /// Returns an age such as `5 min ago`; `just now` if it is below one second, or negative after a clock change.
    package static func ago(milliseconds: Int64) -> String {
        duration(milliseconds: milliseconds).map { "\($0) ago" } ?? "just now"
    }
}
