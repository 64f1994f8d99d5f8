import CLinux
import Glibc

/// Tells if the system clock can be trusted.
///
/// A board without a battery starts in 1970 or at its last shutdown. Certificate dates are checked only after the clock
/// is set.
package struct ClockKnowledge: Sendable, Equatable {
    /// System time in seconds since 1970.
    package var time: Int64
    /// The kernel's synchronisation status (adjtimex(2)); nil if the kernel refuses to answer.
    package var isSynchronised: Bool?
    /// True if systemd-timesyncd has set the clock since the start.
    package var hasMark: Bool
    /// Seconds since 1970 of the battery-backed clock that the system clock was set from; nil without one.
    package var batteryTime: Int64?

    package init(time: Int64, isSynchronised: Bool?, hasMark: Bool, batteryTime: Int64?) {
        (self.time, self.isSynchronised) = (time, isSynchronised)
        (self.hasMark, self.batteryTime) = (hasMark, batteryTime)
    }

    /// Earliest plausible time, 1 January 2025. altnet is younger.
    package static let earliest: Int64 = 1_735_689_600
    /// Maximum difference of the two clocks in seconds. With an empty battery, one clock shows 1970, and the other the
    /// end of the last run, which systemd has stored.
    static let tolerance: Int64 = 60

    package var isKnown: Bool {
        guard time >= Self.earliest else { return false }
        if isSynchronised == true || hasMark { return true }
        guard let batteryTime else { return false }
        return (time - Self.tolerance...time + Self.tolerance).contains(batteryTime)
    }
}

extension ClockKnowledge {
    package static func read() -> ClockKnowledge {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        let answer = clock_is_synchronised()
        return ClockKnowledge(
            time: Int64(now.tv_sec), isSynchronised: answer < 0 ? nil : answer == 1,
            hasMark: access("/run/systemd/timesync/synchronized", F_OK) == 0, batteryTime: batteryTime())
    }

    private static func batteryTime() -> Int64? {
        for number in 0..<4 {
            let folder = "/sys/class/rtc/rtc\(number)"
            if digits(in: folder + "/hctosys") == 1 { return digits(in: folder + "/since_epoch") }
        }
        return nil
    }

    private static func digits(in path: String) -> Int64? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 32)
        let count = Glibc.read(file, &bytes, bytes.count)
        guard count > 0 else { return nil }
        return Int64(String(decoding: bytes[..<count].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
    }
}
