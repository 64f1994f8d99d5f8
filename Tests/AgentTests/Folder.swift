import Glibc
import Testing

/// Calls `body` with a fresh folder, and removes it with the files in it.
func inFolder(
    isolation: isolated (any Actor)? = #isolation, _ body: (String) async throws -> Void
) async throws {
    var template = Array("/tmp/altnet-agent-XXXXXX".utf8CString)
    let path = try #require(
        template.withUnsafeMutableBufferPointer { buffer in
            buffer.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) }
        })
    defer {
        for name in names(in: path) { unlink("\(path)/\(name)") }
        rmdir(path)
    }
    try await body(path)
}

private func names(in path: String) -> [String] {
    guard let directory = opendir(path) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
        names.append(
            withUnsafeBytes(of: &entry.pointee.d_name) { String(cString: $0.bindMemory(to: CChar.self).baseAddress!) })
    }
    return names.filter { $0 != "." && $0 != ".." }
}
