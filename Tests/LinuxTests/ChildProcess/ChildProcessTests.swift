import Foundation
import Testing

@testable import Linux

@Suite struct ChildProcessTests {
    /// A connection that a program inherited would stay open as long as the program runs, whoever closes it here.
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
        #expect(throws: SpawnFailure(errno: ENOENT)) {
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
