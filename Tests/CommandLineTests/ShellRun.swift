import Foundation
import Linux

/// A program of the system that a test asks for its opinion.
struct ShellRun {
    let output: String
    let status: Int32

    /// - Returns: nil where the program is not installed.
    static func path(of program: String) -> String? {
        ["/usr/bin/", "/bin/", "/usr/local/bin/"].map { $0 + program }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// - Returns: what it wrote, to standard error as well.
    static func run(_ program: String, _ arguments: [String], input: String = "") throws -> ShellRun {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("altnet-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        // Through files: a pipe would be full before somebody reads.
        let (inputFile, outputFile) = (folder.appendingPathComponent("input"), folder.appendingPathComponent("output"))
        try Data(input.utf8).write(to: inputFile)
        let pid = try ChildProcess.start(
            "env", ["--chdir=\(folder.path)", program] + arguments, environment: ChildProcess.ownEnvironment,
            input: .file(inputFile.path, flags: O_RDONLY), output: .file(outputFile.path, flags: O_WRONLY | O_CREAT))
        let status = ChildProcess.wait(for: pid)
        return ShellRun(output: String(decoding: try Data(contentsOf: outputFile), as: UTF8.self), status: status)
    }
}
