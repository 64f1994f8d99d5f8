import AppProtocol
import Glibc

/// The directory whose programs are the providers.
public struct ProviderDirectory: Sendable {
    public let path: String
    /// Who has to own the directory and what is in it.
    private let owner: UInt32

    /// - Parameter owner: root, unless a test is somebody else.
    public init(path: String, owner: UInt32 = 0) {
        self.path = path
        self.owner = owner
    }

    /// The programs that are providers.
    /// - Throws: where the directory cannot be read or somebody else may write to it.
    public func list() throws(ProtocolError) -> ProviderList {
        guard isTrusted(path, S_IFDIR) else {
            throw ProtocolError(.storageFailed, "the directory of the providers is not there or not root's alone")
        }
        guard let directory = opendir(path) else {
            throw ProtocolError(.storageFailed, "the directory of the providers cannot be read")
        }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if program(name) != nil { names.append(name) }
        }
        return ProviderList(names: names)
    }

    /// - Returns: the path of the provider's program; nil where there is none, or where somebody else may write to it.
    public func program(_ name: String) -> String? {
        let file = path + "/" + name
        guard ProviderLimits.isName(name), isTrusted(path, S_IFDIR), isTrusted(file, S_IFREG), access(file, X_OK) == 0
        else { return nil }
        return file
    }

    /// Whether only its owner can have written what is there.
    private func isTrusted(_ path: String, _ kind: mode_t) -> Bool {
        var information = stat()
        return stat(path, &information) == 0 && information.st_mode & S_IFMT == kind
            && information.st_uid == owner && information.st_mode & (S_IWGRP | S_IWOTH) == 0
    }
}
