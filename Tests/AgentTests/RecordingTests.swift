import AgentModel
import Dispatch
import Failover
import Foundation
import Glibc
import Linux
import Synchronization
import Testing

@testable import Agent

@Suite struct RecordingTests {
    private func inFolder(_ body: (String) throws -> Void) throws {
        var template = Array("/tmp/altnet-record-XXXXXX\0".utf8CString)
        try #require(mkdtemp(&template) != nil)
        let folder = String(decoding: template.dropLast(2).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer {
            for name in ["record", "link", "pipe"] { unlink("\(folder)/\(name)") }
            rmdir(folder)
        }
        try body(folder)
    }

    private static let events: [PolicyEvent] = [
        .interface(isUp: true), .supplicant(isAvailable: true), .address(isReady: false), .signal(-71),
        .scanned(id: nil, []), .linkLost(.silence), .switchTo(NetworkID(2), id: 9, confirmWithin: .milliseconds(2500)),
        .tick, .stop,
    ]

    private func read(_ path: String) throws -> [RecordedRun] {
        try RecordReader.runs(in: [UInt8](Data(contentsOf: URL(filePath: path))), of: path)
    }

    private final class Ends: Sendable {
        private let errors = Mutex<[RecordError]>([])
        var all: [RecordError] { errors.withLock { $0 } }
        func record(_ error: RecordError) { errors.withLock { $0.append(error) } }
    }

    private func mode(_ path: String) -> mode_t {
        var status = stat()
        stat(path, &status)
        return status.st_mode & 0o7777
    }

    private func size(_ path: String) -> Int {
        var status = stat()
        stat(path, &status)
        return Int(status.st_size)
    }

    @Test func whatWasRecordedIsReadAgain() throws {
        try inFolder { folder in
            let path = folder + "/record"
            for _ in 0..<2 {
                let recording = try Recording(
                    path: path, limit: 1 << 20, agent: "1", settings: PolicySettings()
                ) { Issue.record("ended: \($0)") }
                for (time, event) in Self.events.enumerated() {
                    recording.append(event, at: Instant(milliseconds: Int64(time)), [.leave, .cancelScan])
                }
                recording.finish()
            }
            let runs = try read(path)
            #expect(runs.count == 2)
            for run in runs {
                #expect(run.steps.map(\.event) == Self.events)
                #expect(run.steps.allSatisfy { $0.actions == [.leave, .cancelScan] })
                #expect(run.end == nil)
            }
            #expect(mode(path) == 0o600)
        }
    }

    @Test func aLineThatWasCutIsEndedByTheNextStart() throws {
        try inFolder { folder in
            let path = folder + "/record"
            func record() throws {
                let recording = try Recording(path: path, limit: 1 << 20, agent: "1", settings: PolicySettings()) { _ in
                }
                recording.append(.signal(-70), at: Instant(milliseconds: 1), [])
                recording.append(.signal(-71), at: Instant(milliseconds: 2), [])
                recording.finish()
            }
            try record()
            // Of the line {"step":{"actions":[],"at":2,"event":{"signal":{"dBm":-71}}}} the last bracket and the feed
            // are missing.
            truncate(path, off_t(size(path) - 2))
            try record()
            let runs = try read(path)
            #expect(runs.map { $0.steps.map(\.event) } == [[.signal(-70)], [.signal(-70), .signal(-71)]])
            guard case .cut = runs[0].end else {
                Issue.record("not cut")
                return
            }
        }
    }

    @Test func growsToItsLimitAndSaysSo() throws {
        try inFolder { folder in
            let path = folder + "/record"
            let ends = Ends()
            let limit = 8192
            let recording = try Recording(
                path: path, limit: limit, agent: "1", settings: PolicySettings(), onEnd: ends.record)
            for time in 0..<400 { recording.append(.signal(-70), at: Instant(milliseconds: Int64(time)), [.leave]) }
            recording.finish()
            #expect(size(path) <= limit)
            let run = try #require(try read(path).first)
            #expect(run.end == .full)
            #expect((50..<400).contains(run.steps.count))
            #expect(ends.all == [RecordError(file: path, reason: .full(limit: limit))])
        }
    }

    /// A pipe without a reader stands for a disk that hangs.
    @Test func aSlowDiskLosesEntriesAndBlocksNothing() throws {
        try inFolder { folder in
            let path = folder + "/record"
            let recording = try Recording(
                path: path, limit: 1 << 24, agent: "1", settings: PolicySettings()
            ) { Issue.record("ended: \($0)") }
            let count = 4 * Recording.capacity
            let gate = DispatchSemaphore(value: 0)
            DiskLoop.perform { gate.wait() }
            for time in 0..<count { recording.append(.signal(-70), at: Instant(milliseconds: Int64(time)), []) }
            gate.signal()
            recording.backlog.finish()
            recording.append(.tick, at: Instant(milliseconds: Int64(count)), [])
            recording.finish()
            let run = try #require(try read(path).first)
            #expect(run.steps.count == Recording.capacity)
            guard case .gap(_, let missed) = run.end else {
                Issue.record("no gap")
                return
            }
            #expect(missed == count - Recording.capacity)
        }
    }

    @Test func opensNothingButARegularFile() throws {
        try inFolder { folder in
            symlink("/dev/null", folder + "/link")
            mkfifo(folder + "/pipe", 0o600)
            for path in [folder, folder + "/link", folder + "/pipe", "/dev/null", folder + "/none/record"] {
                #expect(throws: RecordError.self) {
                    try Recording(path: path, limit: 1 << 20, agent: "1", settings: PolicySettings()) { _ in }
                }
            }
        }
    }

    @Test func aFullFileIsNotOpened() throws {
        try inFolder { folder in
            let path = folder + "/record"
            let file = open(path, O_WRONLY | O_CREAT, 0o666)
            ftruncate(file, 5000)
            close(file)
            #expect(throws: RecordError(file: path, reason: .full(limit: 4096))) {
                try Recording(path: path, limit: 4096, agent: "1", settings: PolicySettings()) { _ in }
            }
        }
    }
}
