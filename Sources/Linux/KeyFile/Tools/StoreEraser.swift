import Glibc

/// Destroys a store while holding the lock that excludes agents.
package final class StoreEraser {
    private enum Form {
        case file(name: String, in: any FileOperations)
        case device(any Medium)
    }

    private let form: Form
    private let anchorPath: String?

    /// File name suffixes of the store: the file, an unfinished new file, and an unreadable file that was kept.
    package static let suffixes = ["", ".new", ".damaged"]

    /// - Parameter hasBegun: true if the destruction was started before, so that only the rest of a store may be left.
    /// - Throws: `inUse` if an agent has the store, `foreignContent` if a device holds other data.
    package convenience init(at place: StorePlace, hasBegun: Bool) throws(KeyFileError) {
        if let device = try DeviceMedium.open(path: place.path) {
            try self.init(on: device, path: place.path, anchorPath: place.anchorPath, hasBegun: hasBegun)
            return
        }
        guard let (folder, name) = KeyFile.split(place.path) else { throw .invalidPath(place.path) }
        let directory = try StoreDirectory(path: folder)
        try directory.lock()
        self.init(name: name, in: directory, anchorPath: place.anchorPath)
    }

    /// Prepares to destroy a file. Its directory must be locked, or unused by others.
    package init(name: String, in files: any FileOperations, anchorPath: String? = nil) {
        form = .file(name: name, in: files)
        self.anchorPath = anchorPath
    }

    package init(
        on medium: any Medium, path: String, anchorPath: String? = nil, hasBegun: Bool
    ) throws(KeyFileError) {
        if !hasBegun { try Self.requireStore(on: medium, path: path) }
        form = .device(medium)
        self.anchorPath = anchorPath
    }

    /// Checks that the device holds a store: a wrong partition number in the settings must not destroy other data.
    private static func requireStore(on device: any Medium, path: String) throws(KeyFileError) {
        let found = try Examination(of: device, roots: nil, path: path)
        guard !found.isPresent || found.sectors.contains(where: \.isOfStore) else { throw .foreignContent(path: path) }
    }

    /// Destroys all content durably. A repeated call finishes an interrupted one.
    /// - Returns: errors of sectors that could not be erased. These sectors are unreadable without the root key.
    package func destroy() throws(KeyFileError) -> [KeyFileError] {
        var left: [KeyFileError] = []
        switch form {
        case .file(let name, let files):
            for suffix in Self.suffixes { try files.destroy(name + suffix) }
            try files.synchroniseDirectory()
        case .device(let medium):
            try medium.requireWritable()
            for sector in 0..<medium.geometry.sectorCount {
                do { try medium.erase(sector: sector) } catch {
                    guard case .badSector = error else { throw error }
                    left.append(error)
                }
            }
            try medium.synchronise()
        }
        guard let anchorPath else { return left }
        guard let (folder, name) = KeyFile.split(anchorPath) else { throw .invalidPath(anchorPath) }
        do throws(KeyFileError) {
            let files = try Folder.open(folder)
            for name in [name, name + ".new"] { try files.destroy(name) }
            try files.synchroniseDirectory()
        } catch .system(.open, _, ENOENT) {}
        return left
    }
}

extension SectorReport {
    fileprivate var isOfStore: Bool {
        if case .otherVersion = state { return true }
        return header != nil
    }
}
