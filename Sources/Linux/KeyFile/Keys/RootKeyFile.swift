import AgentModel

/// A root key in a file of its own, outside the store and readable by nobody else: NAME, and beside it NAME.next while the
/// key is being changed. NAME.new, which a cut write may leave behind, is no part of it.
public struct RootKeyFile {
    private let name: String
    private let files: any FileOperations
    private let random: any RandomNumberGenerator

    private var nextName: String { name + ".next" }
    package var source: String { "\(files.path)/\(name)" }

    /// Names the file; its directory is made with mode 0700 if it is missing.
    /// - Throws: `invalidPath` and errors of the directory.
    public init(path: String) throws(KeyFileError) {
        guard let (directory, name) = KeyFile.split(path) else { throw .invalidPath(path) }
        self.init(name: name, files: try StoreDirectory(path: directory), random: SystemRandomNumberGenerator())
    }

    package init(name: String, files: any FileOperations, random: any RandomNumberGenerator) {
        self.name = name
        self.files = files
        self.random = random
    }
}

extension RootKeyFile: RootKeySource {
    /// What it returns is durable, also if whoever wrote it was killed before it was: a store is about to be under it.
    ///
    /// A prepared key that is damaged was never used, for it was durable before it was; so it counts as none. If only the
    /// prepared one is there, on a file system like FAT whose renames a power cut can tear, it is the current one.
    package func load() throws(KeyFileError) -> RootKeys? {
        var findings: [Finding] = []
        let current = try read(name, &findings)
        var prepared: Secret?
        do { prepared = try read(nextName, &findings) } catch .invalidRootKey {}
        guard let found = current ?? prepared else { return nil }
        do { try files.synchroniseDirectory() } catch { findings.append(.postponed(error)) }
        return RootKeys(current: found, prepared: current == nil ? nil : prepared, findings: findings)
    }

    private func read(_ name: String, _ findings: inout [Finding]) throws(KeyFileError) -> Secret? {
        try files.readRootKey(name) { descriptor in
            let path = "\(files.path)/\(name)"
            do {
                if try files.restrict(descriptor) { findings.append(.readableByOthers(path: path, corrected: true)) }
            } catch {
                findings.append(.readableByOthers(path: path, corrected: false))
            }
            do throws(KeyFileError) { try files.synchronise(descriptor) } catch { findings.append(.postponed(error)) }
        }
    }

    /// A key that is there already stays, and is the first one.
    package func makeFirst() throws(KeyFileError) -> Secret {
        if let keys = try load() {
            try files.synchroniseDirectory()
            return keys.current
        }
        var random = random
        let key = RootKeys.makeRandom(&random)
        try write(key, to: name)
        return key
    }

    package func prepare(_ next: Secret) throws(KeyFileError) {
        try completeAdoption()
        try write(next, to: nextName)
    }

    /// Where it was adopted already, it is made durable: that may be what failed.
    package func adoptPrepared() throws(KeyFileError) {
        if try files.holds(nextName) { try files.rename(nextName, to: name) }
        try files.synchroniseDirectory()
    }

    package func discardPrepared() throws(KeyFileError) {
        try completeAdoption()
        try files.remove(nextName)
        try files.synchroniseDirectory()
    }

    private func write(_ key: Secret, to name: String) throws(KeyFileError) {
        try RootKeyForm.encode(key).withBytes { text throws(KeyFileError) in try files.replace(name, with: text) }
    }

    /// The only key that there is must neither be overwritten nor removed, whatever its name.
    private func completeAdoption() throws(KeyFileError) {
        if try !files.holds(name) { try adoptPrepared() }
    }

    /// Destroys the key, also one that is being made or changed, durably: what is under it is lost. Whether it is a root key
    /// nobody asks, so what systemd has encrypted can be destroyed as well.
    package func destroy() throws(KeyFileError) {
        for name in [name, nextName, name + ".new"] { try files.destroy(name) }
        try files.synchroniseDirectory()
    }

    /// Whether there is anything to be destroyed.
    package func isThere() throws(KeyFileError) -> Bool {
        for name in [name, nextName] where try files.holds(name) { return true }
        return false
    }
}
