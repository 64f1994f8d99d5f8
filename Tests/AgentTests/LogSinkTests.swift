import Glibc
import Logging
import Testing

@testable import Agent

@Suite struct LogSinkTests {
    /// A pipe that the log goes into.
    private struct Pipe {
        let reading: Int32
        let writing: Int32

        init(size: Int32? = nil) throws {
            var ends: [Int32] = [0, 0]
            try #require(Glibc.pipe(&ends) == 0)
            (reading, writing) = (ends[0], ends[1])
            if let size { try #require(fcntl(writing, 1031 /* F_SETPIPE_SZ */, size) > 0) }
        }

        func close() {
            Glibc.close(writing)
            Glibc.close(reading)
        }

        /// Everything until there are so many lines.
        func lines(_ count: Int) -> [String] {
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 4096)
            while bytes.count(where: { $0 == 0x0a }) < count || bytes.last != 0x0a {
                let length = read(reading, &buffer, buffer.count)
                guard length > 0 else { break }
                bytes += buffer.prefix(length)
            }
            return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
        }

        /// As systemd writes it into $JOURNAL_STREAM.
        func journalStream() throws -> String {
            var status = stat()
            try #require(fstat(writing, &status) == 0)
            return "\(status.st_dev):\(status.st_ino)"
        }
    }

    private func logger(_ sink: LogSink) -> Logger { Logger(label: "altnet") { _ in SinkLogHandler(sink) } }

    @Test func aLineHasTimeAndLevelOrItsPriorityOnly() throws {
        let pipe = try Pipe()
        defer { pipe.close() }
        let plain = LogSink(descriptor: pipe.writing)
        logger(plain).warning("one")
        plain.flush()
        let journal = LogSink(descriptor: pipe.writing, journal: try pipe.journalStream())
        logger(journal).warning("two")
        journal.complain("three")
        journal.flush()
        let other = LogSink(descriptor: pipe.writing, journal: "1:2")
        logger(other).error("four")
        other.flush()
        let lines = pipe.lines(4)
        #expect(lines[0].hasSuffix("Z warning one") && lines[0].hasPrefix("20"))
        #expect(lines[1] == "<4>two" && lines[2] == "<2>three")
        #expect(lines[3].hasSuffix("Z error four"))
    }

    @Test func theLevelCanBeChangedForEverybody() throws {
        let pipe = try Pipe()
        defer { pipe.close() }
        let sink = LogSink(descriptor: pipe.writing)
        let log = logger(sink)
        log.debug("not this")
        sink.level = .debug
        log.debug("this")
        sink.flush()
        #expect(pipe.lines(1).map { $0.hasSuffix("debug this") } == [true])
    }

    @Test func whatComesFromOutsideMakesNoLineOfItsOwn() throws {
        let pipe = try Pipe()
        defer { pipe.close() }
        let sink = LogSink(descriptor: pipe.writing, journal: try pipe.journalStream())
        logger(sink).notice("a\n<0>b\u{1b}[2J\u{202e}")
        logger(sink).notice("\(String(repeating: "x", count: 100_000))")
        sink.flush()
        let lines = pipe.lines(2)
        #expect(lines[0] == "<5>a\\x0a<0>b\\x1b[2J\\xe2\\x80\\xae")
        #expect(lines[1].utf8.count == LogSink.longestLine - 1)
    }

    /// A journal that reads nothing: the logging thread goes on, memory is bounded, and what is missing is told.
    @Test(.timeLimit(.minutes(10))) func aStalledReaderBlocksNothing() throws {
        let pipe = try Pipe(size: 4096)
        defer { pipe.close() }
        let sink = LogSink(descriptor: pipe.writing, journal: try pipe.journalStream())
        let log = logger(sink)
        let count = 5000
        for number in 0..<count { log.notice("line \(number)") }
        // It gives up in time as well.
        sink.flush(within: .milliseconds(50))
        // One of them is on its way into the pipe; the rest waits or was left out.
        var lines = pipe.lines(LogSink.capacity)
        log.notice("the last")
        sink.flush()
        while lines.last?.hasSuffix("the last") != true { lines += pipe.lines(1) }
        let told = lines.compactMap { line in
            line.contains("log lines were dropped") ? Int(line.dropFirst(3).prefix { $0.isNumber }) : nil
        }.reduce(0, +)
        #expect(lines.count { $0.hasPrefix("<5>line ") } + told == count)
    }
}
