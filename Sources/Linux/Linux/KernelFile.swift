import Glibc

package enum KernelFile {
    /// - Returns: the text before the first control character, at most 128 bytes; nil if it is empty or unreadable.
    package static func read(_ path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 128)
        let count = Glibc.read(descriptor, &buffer, buffer.count)
        guard count > 0 else { return nil }
        let line = String(decoding: buffer.prefix(count).prefix { $0 >= 0x20 }, as: UTF8.self)
        return line.isEmpty ? nil : line
    }

    /// Existing paths that match a pattern of glob(7), sorted.
    package static func paths(matching pattern: String) -> [String] {
        var found = glob_t()
        defer { globfree(&found) }
        guard glob(pattern, 0, nil, &found) == 0 else { return [] }
        return (0..<Int(found.gl_pathc)).compactMap { index in found.gl_pathv[index].map { String(cString: $0) } }
    }

    @discardableResult
    package static func write(_ text: String, to path: String) -> Bool {
        let descriptor = open(path, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        return Glibc.write(descriptor, bytes, bytes.count) == bytes.count
    }
}
