import Glibc

/// Files of the repository that seeds come from.
enum TestFile {
    /// The repository's top folder, where this was compiled; the fuzz program's package reaches it through a link.
    private static let top: String = {
        let resolved = realpath("\(#filePath)", nil)
        defer { free(resolved) }
        guard let resolved else { return "." }
        return String(cString: resolved).split(separator: "/").dropLast(3).map { "/" + $0 }.joined()
    }()

    /// - Parameter path: from the repository's top folder.
    /// - Returns: none where there is no such file.
    static func lines(of path: String) -> [String] {
        guard let file = fopen("\(top)/\(path)", "r") else { return [] }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { bytes += buffer.prefix(count) }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
            .map(String.init)
    }

    /// What a document shows: lines that begin with `->` or `<-`.
    static func examples(in path: String) -> [[UInt8]] {
        lines(of: path).filter { $0.hasPrefix("-> ") || $0.hasPrefix("<- ") }.map { Array($0.utf8.dropFirst(3)) }
    }
}
