import AgentModel
import Glibc
import Logging
import Testing

@testable import Agent

/// A source that the agent died of is left alone, for growing times.
@Suite struct ReadingMarkTests {
    private static let start = Instant(milliseconds: 1_000_000)

    @Test func eachDeathDoublesTheTime() {
        var mark = ReadingMark.reading(deaths: 0)
        var now = Self.start
        for expected in [60, 120, 240, 480, 960, 1920, 3840, 7680, 15_360, 30_720, 61_440, 86_400, 86_400] {
            mark = mark.found(at: now)
            let end = now + .seconds(expected)
            #expect(mark.begun(at: end - .milliseconds(1)) == nil)
            now = end
            mark = mark.begun(at: now) ?? mark
            guard case .reading = mark else {
                Issue.record("\(expected) s are over, and it is left alone: \(mark)")
                return
            }
        }
    }

    /// A restart for another reason lengthens nothing.
    @Test func aRestartMeanwhileCountsForNothing() {
        let mark = ReadingMark.leftAlone(deaths: 3, until: Self.start + .seconds(100))
        #expect(mark.found(at: Self.start) == mark)
    }

    /// A clock that began anew would have it wait for years.
    @Test func noMarkIsForLongerThanItsDeathsAreWorth() {
        let mark = ReadingMark.leftAlone(deaths: 1, until: Instant(milliseconds: .max))
        #expect(mark.found(at: Self.start) == .leftAlone(deaths: 1, until: Self.start + .seconds(60)))
    }

    @Test(arguments: [
        ReadingMark.reading(deaths: 0), .reading(deaths: 1000), .leftAlone(deaths: 2, until: start),
        .leftAlone(deaths: 1000, until: Instant(milliseconds: .max)),
        .leftAlone(deaths: 1, until: Instant(milliseconds: .min)),
    ]) func isReadAsItIsWritten(_ mark: ReadingMark) {
        #expect(ReadingMark(mark.text) == mark)
        _ = mark.found(at: Self.start)
        _ = mark.found(at: Instant(milliseconds: .max)).found(at: Instant(milliseconds: .min))
    }

    @Test(arguments: [
        "", "reading", "reading -1", "reading 1001", "reading 99999999999999999999", "reading 1 2", "left 1",
        "left 0 5",
        "left 1 x", "left 1 2 3", "left 1 99999999999999999999", "read 1", "reading 1 x",
    ]) func isNone(_ text: String) { #expect(ReadingMark(text) == nil) }
}

@Suite struct ReadingMarksTests {
    private let api = OutsideSource(.captiveAPI, "../../the network of hash X")
    private let probe = OutsideSource(.probe, "the network of hash X")

    private func marks(_ folder: String, at seconds: Int = 0) -> ReadingMarks {
        ReadingMarks(in: folder, now: { Instant(milliseconds: Int64(seconds) * 1000) }, log: .silent)
    }

    @Test func whatIsReadToItsEndLeavesNothing() async throws {
        try await inFolder { folder in
            let marks = marks(folder)
            #expect(marks.begin(api) && marks.begin(api))
            #expect(access("\(folder)/\(ReadingMarks.fileName(api))", F_OK) == 0)
            marks.end(api)
            #expect(access("\(folder)/\(ReadingMarks.fileName(api))", F_OK) == 0, "another is reading it still")
            marks.end(api)
            #expect(access("\(folder)/\(ReadingMarks.fileName(api))", F_OK) != 0)
            #expect(self.marks(folder).begin(api))
        }
    }

    @Test func anIntendedEndIsNoFailure() async throws {
        try await inFolder { folder in
            let marks = marks(folder)
            #expect(marks.begin(api))
            marks.finish()
            #expect(self.marks(folder).begin(api))
        }
    }

    /// Programs die in the middle of reading one source, one after the other, and each is started again.
    @Test func aSourceThatKillsIsLeftAlone() async throws {
        let folder = "/tmp/altnet-reading-\(getpid())"
        mkdir(folder, 0o700)
        defer {
            unlink("\(folder)/\(ReadingMarks.fileName(api))")
            rmdir(folder)
        }
        await #expect(processExitsWith: .signal(SIGKILL)) {
            let marks = ReadingMarks(
                in: "/tmp/altnet-reading-\(getppid())", now: { Instant(milliseconds: 0) }, log: .silent)
            marks.reading(OutsideSource(.captiveAPI, "../../the network of hash X")) { _ = kill(getpid(), SIGKILL) }
        }
        // Started again at once: that source is left alone, and no other.
        let second = marks(folder)
        #expect(!second.begin(api))
        #expect(second.begin(probe))
        second.end(probe)
        #expect(!marks(folder, at: 59).begin(api))
        await #expect(processExitsWith: .signal(SIGKILL)) {
            let marks = ReadingMarks(
                in: "/tmp/altnet-reading-\(getppid())", now: { Instant(milliseconds: 60_000) }, log: .silent)
            marks.reading(OutsideSource(.captiveAPI, "../../the network of hash X")) { _ = kill(getpid(), SIGKILL) }
        }
        #expect(!marks(folder, at: 60).begin(api))
        #expect(!marks(folder, at: 179).begin(api))
        let last = marks(folder, at: 180)
        #expect(last.begin(api))
        last.end(api)
        #expect(marks(folder, at: 180).begin(api), "it was read to its end")
    }

    /// Other content of the folder: foreign files, marks that are cut short, more than there may be.
    @Test func whatIsNoMarkIsNone() async throws {
        try await inFolder { folder in
            let cut = "\(folder)/\(ReadingMarks.fileName(api))"
            close(open(cut, O_CREAT | O_WRONLY, 0o600))
            let other = "\(folder)/altnet.sock"
            close(open(other, O_CREAT | O_WRONLY, 0o600))
            #expect(marks(folder).begin(api))
            #expect(access(other, F_OK) == 0)
        }
    }

    @Test func withoutAFolderAllIsRead() {
        #expect(marks("/proc/nowhere").begin(api))
    }
}

extension Logger {
    fileprivate static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
}
