import AppProtocol
import Foundation
import PipedPrograms

/// What Docs/protocol.md shows, run in a shell beside a file with the device's key.
struct ExampleScripts {
    static let documents = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Docs")

    static let text = try? String(contentsOf: documents.appendingPathComponent("protocol.md"), encoding: .utf8)

    private let folder: SocketFolder

    init(key: [UInt8]) throws {
        folder = try SocketFolder()
        try Data(key + [10]).write(to: URL(fileURLWithPath: folder.path + "/local-key"))
    }

    /// - Parameter count: how many lines to wait for; then the program's input ends.
    /// - Returns: what the program printed, up to its end.
    func run(_ command: String, input: String = "", expecting count: Int = 0) async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Result { try Self.run(command, in: folder.path, input, count) })
            }
        }
    }

    private static func run(_ command: String, in folder: String, _ input: String, _ count: Int) throws -> String {
        let program = try PipedProgram("timeout", ["60", "env", "--chdir=\(folder)", "sh", "-c", command])
        try program.input.write(contentsOf: Data(input.utf8))
        var output = Data()
        while output.count(where: { $0 == 10 }) < count {
            let data = program.output.availableData
            if data.isEmpty { break }
            output += data
        }
        try program.input.close()
        output += try program.output.readToEnd() ?? Data()
        program.wait()
        return String(decoding: output, as: UTF8.self)
    }
}
