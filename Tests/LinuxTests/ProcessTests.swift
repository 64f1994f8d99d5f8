import AgentModel
import Foundation
import Testing

@testable import Linux

@Suite struct ChildProcessTests {
    /// A connection that a program inherited would stay open as long as the program runs, although it is closed here.
    @Test func aProgramGetsNoOpenFileButItsStreams() throws {
        let stray = try #require(FileHandle(forReadingAtPath: "/"))
        #expect(fcntl(stray.fileDescriptor, F_SETFD, 0) == 0)
        let (status, said) = try run("ls", ["/proc/self/fd"])
        #expect(status == 0)
        // The fourth is the folder that it lists.
        #expect(said == "0\n1\n2\n3\n")
        try stray.close()
    }

    @Test func itRunsInAGroupOfItsOwnWithNoSignalBlocked() throws {
        // Read by the shell itself, for while it starts a program it blocks all signals.
        let script = """
            read pid name state parent group rest </proc/$$/stat; echo $pid $group
            while read name value; do case $name in SigBlk:) echo $name $value;; esac; done </proc/$$/status
            """
        let (_, said) = try run("sh", ["-c", script])
        let words = said.split(whereSeparator: \.isWhitespace)
        #expect(words.count == 4)
        #expect(words.first == words.dropFirst().first)
        #expect(words.last == "0000000000000000")
    }

    @Test func aMissingProgramIsSaidAtOnce() {
        #expect(throws: SystemError("start /nonexistent/program", errno: ENOENT)) {
            try ChildProcess.start("/nonexistent/program", [], environment: [], output: .nothing)
        }
    }

    @Test(arguments: [("exit 0", 0), ("exit 3", 3), ("kill -TERM $$", 128 + SIGTERM), ("kill -KILL $$", 128 + SIGKILL)])
    func howItEndedIsSaidAsAShellSaysIt(script: String, status: Int32) throws {
        #expect(try run("sh", ["-c", script]).status == status)
    }

    /// - Returns: its exit status and what it wrote.
    private func run(_ path: String, _ arguments: [String]) throws -> (status: Int32, said: String) {
        let pipe = Pipe()
        let pid = try ChildProcess.start(
            path, arguments, environment: ChildProcess.ownEnvironment,
            output: .descriptor(pipe.fileHandleForWriting.fileDescriptor))
        try pipe.fileHandleForWriting.close()
        let said = try pipe.fileHandleForReading.readToEnd() ?? Data()
        return (ChildProcess.wait(for: pid), String(decoding: said, as: UTF8.self))
    }
}

@Suite(.timeLimit(.minutes(10))) struct ProcessSignalsTests {
    /// In a process of its own: signals are the whole process's.
    @Test func theyComeThroughTheLoopAndEndNothing() async {
        await #expect(processExitsWith: .exitCode(3)) {
            let signals = try ProcessSignals([SIGTERM, SIGHUP])
            // Before there is a reader, and after.
            kill(getpid(), SIGHUP)
            let (numbers, teller) = AsyncStream.makeStream(of: Int32.self)
            signals.deliver { teller.yield($0) }
            var next = numbers.makeAsyncIterator()
            guard await next.next() == SIGHUP else { exit(1) }
            kill(getpid(), SIGTERM)
            guard await next.next() == SIGTERM else { exit(2) }
            exit(3)
        }
    }

    @Test func afterTheEndTheyDoWhatTheyUsuallyDo() async {
        await #expect(processExitsWith: .signal(SIGTERM)) {
            let signals = try ProcessSignals([SIGTERM])
            signals.end()
            kill(getpid(), SIGTERM)
            pause()
        }
    }

    /// A program that ignored them could not be ended in order.
    @Test func aProgramHasThemAsUsual() async {
        await #expect(processExitsWith: .exitCode(128 + SIGTERM)) {
            let signals = try ProcessSignals([SIGTERM])
            let pid = try ChildProcess.start(
                "sleep", ["60"], environment: ChildProcess.ownEnvironment, output: .nothing)
            kill(pid, SIGTERM)
            let status = ChildProcess.wait(for: pid)
            signals.end()
            exit(status)
        }
    }
}

@Suite struct SystemErrorTests {
    @Test func saysWhatWasAttemptedAndWhy() {
        #expect("\(SystemError("open /run/x", errno: ENOENT))" == "cannot open /run/x: No such file or directory")
    }

    @Test func allIsWrittenAlsoWhereADescriptorDoesNotBlock() throws {
        let pipe = Pipe()
        let (reading, writing) = (pipe.fileHandleForReading, pipe.fileHandleForWriting)
        try #require(fcntl(writing.fileDescriptor, F_SETFL, O_NONBLOCK) == 0)
        let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0) }
        let reader = Thread { [reading] in
            var left = 300_000
            while left > 0, let part = try? reading.read(upToCount: left), !part.isEmpty { left -= part.count }
        }
        reader.start()
        try writeAll(bytes, to: writing.fileDescriptor, attempting: "write")
        #expect(throws: SystemError("write to nothing", errno: EBADF)) {
            try writeAll([1], to: -1, attempting: "write to nothing")
        }
    }
}
