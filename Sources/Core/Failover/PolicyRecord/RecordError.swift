import AgentModel
import Glibc

/// Why a record cannot be read or written.
public struct RecordError: Error, Equatable, CustomStringConvertible {
    public let file: String
    public let reason: Reason

    public enum Reason: Equatable, Sendable {
        /// A system call failed: what was attempted, and its errno.
        case system(attempt: String, errno: Int32)
        /// It is a folder, a pipe or a device.
        case notAFile
        case tooLarge(maximum: Int)
        /// Where in the file, and what should have been there.
        case malformed(line: Int, expected: String)
        case unsupportedVersion(line: Int, String)
        /// It has room for nothing more.
        case full(limit: Int)
    }

    public var description: String {
        switch reason {
        case .system(let attempt, let errno): "\(file): cannot \(attempt): \(String(cString: strerror(errno)))"
        case .notAFile: "\(file) is not a regular file"
        case .tooLarge(let maximum): "\(file) is larger than \(maximum >> 20) MiB"
        case .malformed(let line, let expected): "\(file):\(line): expected \(expected)"
        case .unsupportedVersion(let line, let version):
            "\(file):\(line): version \(version) of the format, expected \(RecordFormat.version)"
        case .full(let limit): "\(file) has reached its limit of \(limit >> 20) MiB"
        }
    }
}

/// The form of a record. Docs/recording.md describes it.
package enum RecordFormat {
    static let version = "4"
    /// Those that can be read: the first knew no doubts and no signing in, the second no settings that change, the third no
    /// proven access points.
    static let readable = ["1", "2", "3", version]
    static let heading = "altnet-record"
    /// The most bytes that a line has.
    static let lineLength = 256 * 1024

    package static func header(agent: String, _ settings: PolicySettings) -> String {
        let values = PolicySetting.all.compactMap { setting in
            setting.value(in: settings).map { "= \(setting.name) \($0)\n" }
        }
        return "\(heading) \(version) \(agent)\n" + values.joined()
    }

    package static func entry(_ event: PolicyEvent, at now: Instant, _ actions: [PolicyAction]) -> String {
        "@\(now.milliseconds) \(actions.count) \(event.recorded)\n" + actions.map { "> \($0.recorded)\n" }.joined()
    }

    package static func gap(_ missed: Int) -> String { "# gap \(missed)\n" }
    package static let full = "# full\n"
    /// What ends a line that a power cut left without its end, for it may look whole.
    package static let cut = " ..."
}
