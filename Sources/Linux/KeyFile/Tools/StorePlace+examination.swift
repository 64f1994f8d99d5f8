import AgentModel

extension StorePlace {
    /// Reads the store as it lies there, without the lock and without changing anything.
    /// - Parameter usingRootKey: false to check checksums only, which is also what happens where there is no key.
    package func examine(usingRootKey: Bool = true) throws(KeyFileError) -> Examination {
        var last = try examineOnce(usingRootKey)
        // An agent may write while this reads: what reads the same twice was there.
        for _ in 0..<4 {
            let again = try examineOnce(usingRootKey)
            if again == last { break }
            last = again
        }
        return last
    }

    private func examineOnce(_ usingRootKey: Bool) throws(KeyFileError) -> Examination {
        let roots = usingRootKey ? try rootKey.readOnlySource().load() : nil
        let anchor = try anchorPath.map { path throws(KeyFileError) in
            let (directory, name) = try Self.split(path)
            return FileAnchor(name: name, files: try ReadOnlyDirectory(path: directory))
        }
        let medium = try openForReading()
        let findings = (medium as? FileMedium)?.findings ?? []
        return try Examination(
            of: medium, roots: roots?.all, anchor: anchor, findings: findings + (roots?.findings ?? []), path: path)
    }

    private func openForReading() throws(KeyFileError) -> any Medium {
        if let device = try ReadOnlyDevice.open(path: path) { return device }
        let (directory, name) = try Self.split(path)
        return try FileMedium(name: name, in: try ReadOnlyDirectory(path: directory))
    }

    /// Whether another process has the store open: an agent, as a rule.
    package func isInUse() throws(KeyFileError) -> Bool {
        if try ReadOnlyDevice.open(path: path) != nil { return ReadOnlyDevice.isLocked(path: path) }
        return try ReadOnlyDirectory(path: Self.split(path).directory).isLocked()
    }

    private static func split(_ path: String) throws(KeyFileError) -> (directory: String, name: String) {
        guard let parts = KeyFile.split(path) else { throw .invalidPath(path) }
        return parts
    }
}
