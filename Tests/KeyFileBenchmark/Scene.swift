import FoundationEssentials

/// Where the contestants work, on the disk that is measured: a directory for each, all removed at the end.
struct Scene {
    /// A real path.
    let root: String

    init(in parent: String) throws {
        root = parent + "/run-\(ProcessInfo.processInfo.processIdentifier)"
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    }

    func remove() throws { try FileManager.default.removeItem(atPath: root) }

    /// A new directory for a contestant.
    func directory(_ stage: String, _ entrant: Entrant) throws -> String {
        let path = "\(root)/\(stage)-\(entrant.rawValue)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        return path
    }

    /// The files in a contestant's directory.
    static func files(in directory: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory).map { directory + "/" + $0 }
    }
}
