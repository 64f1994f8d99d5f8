import CLinux
import Glibc

/// Whether the system's clock is known to be right.
///
/// A board without a battery begins in 1970, or where it was switched off: times in certificates do not count before it
/// is known that this is over.
package struct ClockKnowledge: Sendable, Equatable {
    /// In seconds since 1970.
    package var time: Int64
    /// What the kernel was told by a program that keeps the time (adjtimex(2)); nil where it may not be asked.
    package var isSynchronised: Bool?
    /// Whether systemd-timesyncd has left its mark since the start.
    package var hasMark: Bool
    /// The time, in seconds since 1970, of the clock with a battery that the system has got its own from; nil without
    /// one.
    package var batteryTime: Int64?

    package init(time: Int64, isSynchronised: Bool?, hasMark: Bool, batteryTime: Int64?) {
        (self.time, self.isSynchronised) = (time, isSynchronised)
        (self.hasMark, self.batteryTime) = (hasMark, batteryTime)
    }

    /// Before 2025 there was no altnet.
    package static let earliest: Int64 = 1_735_689_600
    /// How far the two clocks of a system may be apart, in seconds. A board whose battery is empty has a time of 1970
    /// in the one, and in the other what systemd remembers of the last run.
    static let tolerance: Int64 = 60

    package var isKnown: Bool {
        guard time >= Self.earliest else { return false }
        if isSynchronised == true || hasMark { return true }
        guard let batteryTime else { return false }
        return (time - Self.tolerance...time + Self.tolerance).contains(batteryTime)
    }
}

extension ClockKnowledge {
    /// Asks the system.
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

    /// The number in a file of the kernel's.
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
