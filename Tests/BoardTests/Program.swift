import ChildProcess
import Foundation

/// A program of this machine, run to its end.
struct Program {
    let status: Int32
    /// What it wrote, to standard output and to standard error.
    let said: String

    init(_ path: String, _ arguments: [String]) throws {
        let pipe = Pipe()
        let pid = try ChildProcess.start(
            path, arguments, environment: ChildProcess.ownEnvironment,
            output: .descriptor(pipe.fileHandleForWriting.fileDescriptor))
        try pipe.fileHandleForWriting.close()
        let bytes = try pipe.fileHandleForReading.readToEnd() ?? Data()
        status = ChildProcess.wait(for: pid)
        said = String(decoding: bytes, as: UTF8.self)
    }

    static func isThere(_ name: String) -> Bool { FileManager.default.isExecutableFile(atPath: "/usr/bin/" + name) }
}

/// The repository's folder `board`, and one to write into, which is removed in the end.
final class Board {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("board").path

    let place: String

    init() throws {
        var template = Array("/tmp/altnet-board-XXXXXX".utf8CString)
        mkdtemp(&template)
        place = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { try? FileManager.default.removeItem(atPath: place) }

    static func text(of file: String) throws -> String {
        try String(contentsOfFile: folder + "/" + file, encoding: .utf8)
    }

    /// Puts a file of the board where `root`'s package would have it.
    func install(_ file: String, as path: String) throws {
        let target = URL(fileURLWithPath: place + path)
        try FileManager.default.createDirectory(
            at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: Self.folder + "/" + file, toPath: target.path)
    }
}
