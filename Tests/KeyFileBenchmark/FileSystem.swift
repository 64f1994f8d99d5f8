import FoundationEssentials

/// What a directory is on, from `/proc/self/mountinfo` (proc(5)).
struct FileSystem: Codable {
    let type: String
    let device: String
    let options: String

    /// Whether it lives in memory, where a sync has nothing to do.
    var isInMemory: Bool { type == "tmpfs" || type == "ramfs" }

    /// - Parameter directory: a real path.
    init(of directory: String) throws {
        let text = try String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8)
        let mounts = text.split(separator: "\n").compactMap(Mount.init)
        // The last one, for it covers those before.
        let best = mounts.filter { $0.holds(directory) }.enumerated()
            .max { ($0.element.point.utf8.count, $0.offset) < ($1.element.point.utf8.count, $1.offset) }
        guard let mount = best?.element else { throw BenchmarkError("nothing is mounted at \(directory)") }
        (type, device, options) = (String(mount.type), String(mount.device), String(mount.options))
    }

    private struct Mount {
        let point: Substring
        let options: Substring
        let type: Substring
        let device: Substring

        init?(_ line: Substring) {
            let parts = line.split(separator: " ")
            guard let dash = parts.firstIndex(of: "-"), dash >= 6, parts.count >= dash + 3 else { return nil }
            (point, options, type, device) = (parts[4], parts[5], parts[dash + 1], parts[dash + 2])
        }

        func holds(_ path: String) -> Bool { point == "/" || path == point || path.hasPrefix(point + "/") }
    }
}
