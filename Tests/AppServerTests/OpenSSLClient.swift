import Foundation
import PipedPrograms

/// `openssl s_client`: a client that has nothing in common with this project.
struct OpenSSLClient {
    /// What the server sent.
    let lines: [String]
    /// What openssl has to say.
    let errors: String

    /// Sends `input`, reads `expecting` lines or up to the end of the connection, and leaves.
    /// - Parameter options: what is said about keys, versions and ciphers.
    static func talk(
        to port: Int, _ options: [String], input: String = request(.getNetwork), expecting count: Int = 1
    ) async throws -> OpenSSLClient {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Result { try run(port, options, input, count) })
            }
        }
    }

    static let keyed = ["-psk", String(repeating: "07", count: 32), "-psk_identity", "altnet-7f3c"]

    private static func run(_ port: Int, _ options: [String], _ input: String, _ count: Int) throws -> OpenSSLClient {
        let errors = Pipe()
        let program = try PipedProgram(
            "timeout",
            ["60", "openssl", "s_client", "-connect", "127.0.0.1:\(port)", "-quiet", "-no_ign_eof"] + options,
            errors: .descriptor(errors.fileHandleForWriting.fileDescriptor))
        try errors.fileHandleForWriting.close()
        try? program.input.write(contentsOf: Data(input.utf8))
        var received = Data()
        while received.count(where: { $0 == 10 }) < count {
            let data = program.output.availableData
            if data.isEmpty { break }
            received += data
        }
        try? program.input.close()
        let said = errors.fileHandleForReading.readDataToEndOfFile()
        program.wait()
        return OpenSSLClient(
            lines: String(decoding: received, as: UTF8.self).split(separator: "\n").map(String.init),
            errors: String(decoding: said, as: UTF8.self))
    }
}
