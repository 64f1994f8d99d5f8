import Foundation
import PipedPrograms

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

    static func hasProgram(_ name: String) -> Bool {
        FileManager.default.isExecutableFile(atPath: "/usr/bin/" + name)
    }

    /// Runs a program of this machine to its end.
    /// - Returns: with what it wrote, to standard output and to standard error.
    static func run(_ program: String, _ arguments: [String]) throws -> (status: Int32, said: String) {
        let (status, output) = try PipedProgram.run(program, arguments, errors: nil)
        return (status, String(decoding: output, as: UTF8.self))
    }

    /// Puts a file of the board where `root`'s package would have it.
    func install(_ file: String, as path: String) throws {
        let target = URL(fileURLWithPath: place + path)
        try FileManager.default.createDirectory(
            at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: Self.folder + "/" + file, toPath: target.path)
    }
}
