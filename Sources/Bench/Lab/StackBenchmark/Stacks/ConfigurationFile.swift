import FoundationEssentials
import Glibc
import Linux

/// A file of a stack's configuration, which only root may read, for it has passwords.
struct ConfigurationFile {
    let path: String
    let text: String

    init(_ path: String, _ text: String) {
        self.path = path
        self.text = text
    }

    /// - Parameter age: how long ago it was last changed, to those who go by that.
    func write(age: Duration = .zero) throws {
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(filePath: path))
        let moment = timeval(tv_sec: time(nil) - Int(age.components.seconds), tv_usec: 0)
        guard chmod(path, 0o600) == 0, utimes(path, [moment, moment]) == 0 else {
            throw LabError.system(SystemError("set the date of \(path)"))
        }
    }

    /// Makes the folder, empty.
    static func clear(_ folder: String) throws {
        try? FileManager.default.removeItem(atPath: folder)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }
}
