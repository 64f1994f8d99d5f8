import Foundation
import Linux
import Testing

@testable import altnet

@Suite struct TextOutputTests {
    /// A pipe takes only a part at a time.
    @Test func writesAllOfIt() async throws {
        let pipe = Pipe()
        let text = String(repeating: "家 and home\n", count: 40_000)
        // On a thread of its own, started before anything blocks: those of Swift's pool are few.
        let (read, reader) = AsyncStream.makeStream(of: Data.self)
        Thread.detachNewThread {
            reader.yield(pipe.fileHandleForReading.readDataToEndOfFile())
            reader.finish()
        }
        try TextOutput(descriptor: pipe.fileHandleForWriting.fileDescriptor).put(text)
        try pipe.fileHandleForWriting.close()
        let data = try #require(await read.first { _ in true })
        #expect(String(decoding: data, as: UTF8.self) == text)
    }

    @Test func saysWhyItCannot() {
        #expect(throws: SystemError("write", errno: EBADF)) { try TextOutput(descriptor: -1).put("text") }
        #expect(throws: Never.self) { try TextOutput(descriptor: -1).put("") }
    }
}
