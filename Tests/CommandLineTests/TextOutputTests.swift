import Foundation
import Testing

@testable import altnet

@Suite struct TextOutputTests {
    /// A pipe takes only a part at a time.
    @Test func writesAllOfIt() async throws {
        let pipe = Pipe()
        let text = String(repeating: "家 and home\n", count: 40_000)
        async let read = withCheckedContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(returning: pipe.fileHandleForReading.readDataToEndOfFile())
            }
        }
        try TextOutput(descriptor: pipe.fileHandleForWriting.fileDescriptor).put(text)
        try pipe.fileHandleForWriting.close()
        #expect(await String(decoding: read, as: UTF8.self) == text)
    }

    @Test func saysWhyItCannot() {
        #expect(throws: TextOutput.Failure(number: EBADF)) { try TextOutput(descriptor: -1).put("text") }
        #expect(throws: Never.self) { try TextOutput(descriptor: -1).put("") }
    }
}
