import AgentModel
import Glibc
import Import
import Linux
import Netlink

/// Reads networks from the files of other programs, of this machine or of a mounted system. Changes no file.
struct Board {
    let files: SourceFiles
    /// `nmcli`, used if NetworkManager has no readable files; nil for a mounted system.
    let networkManager: NetworkManagerProgram?

    init(_ files: SourceFiles) { self.init(files, networkManager: files.root == nil ? .init() : nil) }

    init(_ files: SourceFiles, networkManager: NetworkManagerProgram?) {
        (self.files, self.networkManager) = (files, networkManager)
    }

    /// Returns the contents of all sources, the most trusted first.
    func read() -> [SourceContents] {
        let timestamps =
            (try? files.withContents(of: BoardFile.timestamps) { bytes, _ in
                NetworkManagerSource.timestamps(bytes)
            }) ?? [:]
        var sources: [SourceContents] = []
        var hasConnections = false
        for file in BoardFile.all {
            let contents = file.isFolder ? readFolder(file, timestamps) : [read(file, file.path, timestamps)]
            if file.format == .networkManager {
                hasConnections = hasConnections || contents.contains { !$0.networks.isEmpty || !$0.findings.isEmpty }
            }
            sources += contents
        }
        if let networkManager, !hasConnections { sources.insert(contentsOf: networkManager.read(), at: 0) }
        return sources
    }

    private func readFolder(_ folder: BoardFile, _ timestamps: NetworkManagerSource.Timestamps) -> [SourceContents] {
        let names: [[UInt8]]
        do throws(SystemError) { names = try files.names(in: folder.path) } catch {
            guard error.errno != ENOENT, error.errno != ENOTDIR else { return [] }
            return [SourceContents(ImportFinding(ImportLocation(folder.path), .unreadable(error)))]
        }
        let wanted = names.filter(folder.matches)
        var contents = wanted.prefix(ImportLimits.files).map { name in
            read(folder, folder.path + "/" + String(decoding: name, as: UTF8.self), timestamps, name: name)
        }
        if wanted.count > ImportLimits.files {
            contents.append(SourceContents(ImportFinding(ImportLocation(folder.path), .tooMany("files"))))
        }
        // Netplan's later files override earlier ones.
        return folder.format == .netplan ? contents.reversed() : contents
    }

    private func read(
        _ file: BoardFile, _ path: String, _ timestamps: NetworkManagerSource.Timestamps, name: [UInt8]? = nil
    ) -> SourceContents {
        do throws(SystemError) {
            let place = name == nil ? file.path : file.path + "/"
            return try files.withContents(of: place, name: name) { bytes, changed in
                file.read(bytes, from: path, named: name ?? [], changed: changed, timestamps: timestamps)
            }
        } catch {
            if error.errno == ENOENT || error.errno == ENOTDIR { return SourceContents() }
            let reason: ImportFinding.Reason = error.errno == EFBIG ? .tooLong : .unreadable(error)
            return SourceContents(ImportFinding(ImportLocation(path), reason))
        }
    }

    /// Returns the SSIDs of the networks that this machine is connected to, by interface; empty if there are none.
    static func connected() async -> ImportPlan.Connected {
        guard let interfaces = try? await WirelessRadio(interface: "wlan0", onEvent: { _ in }).interfaces() else {
            return [:]
        }
        let networks = interfaces.filter(\.isStation).compactMap { interface in
            interface.ssid.map { (interface.name, $0) }
        }
        return Dictionary(networks) { first, _ in first }
    }
}

/// Reads files into memory that is wiped afterwards.
struct SourceFiles {
    /// Mounted system; nil for this machine.
    let root: MountedRoot?

    /// - Parameter path: folder of a mounted system; nil for this machine.
    init(root path: String?) throws(SystemError) {
        if let path { root = try MountedRoot(path) } else { root = nil }
    }

    private func open(_ path: [UInt8], _ flags: Int32) -> Int32 {
        (path + [0]).withUnsafeBytes { bytes in
            bytes.withMemoryRebound(to: CChar.self) { path in
                guard let path = path.baseAddress else { return -1 }
                return root.map { $0.open(path, flags) } ?? Glibc.open(path, flags | O_CLOEXEC)
            }
        }
    }

    /// Reads a file and calls `body`.
    /// - Parameters:
    ///   - path: path of a file, or of a folder with a slash at the end.
    ///   - name: name of the file in the folder, in any encoding; nil if `path` is the file.
    ///   - body: called with the content and the modification time in seconds since 1970.
    /// - Throws: the system call's error, `EFBIG` for a file above the limit, `EINVAL` for anything but a regular file.
    func withContents<Value>(
        of path: String, name: [UInt8]? = nil, _ body: (UnsafeRawBufferPointer, UInt64?) -> Value
    ) throws(SystemError) -> Value {
        let path = Array(path.utf8) + (name ?? [])
        let attempt = "read \(String(printable: path))"
        // A pipe would block without O_NONBLOCK.
        let file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY)
        guard file >= 0 else { throw SystemError(attempt) }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { throw SystemError(attempt) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw SystemError(attempt, errno: EINVAL) }
        guard status.st_size <= ImportLimits.sourceLength else { throw SystemError(attempt, errno: EFBIG) }
        let changed = UInt64(exactly: status.st_mtim.tv_sec)
        return try Self.withContents(of: file, attempt) { body($0, changed) }
    }

    /// Reads a descriptor to its end.
    /// - Throws: the system call's error, or `EFBIG` above the limit.
    static func withContents<Value>(
        of file: Int32, _ attempt: String, _ body: (UnsafeRawBufferPointer) -> Value
    ) throws(SystemError) -> Value {
        let memory = ProtectedMemory(byteCount: ImportLimits.sourceLength + 1)
        var count = 0
        while count < memory.bytes.count {
            let more = Glibc.read(file, memory.bytes.baseAddress?.advanced(by: count), memory.bytes.count - count)
            if more < 0, errno == EINTR { continue }
            guard more >= 0 else { throw SystemError(attempt) }
            guard more > 0 else { return body(UnsafeRawBufferPointer(rebasing: memory.bytes[..<count])) }
            count += more
        }
        throw SystemError(attempt, errno: EFBIG)
    }

    /// Returns the sorted names in a folder, without hidden names.
    func names(in folder: String) throws(SystemError) -> [[UInt8]] {
        let attempt = "read \(folder.printable)"
        let descriptor = open(Array(folder.utf8), O_RDONLY | O_DIRECTORY)
        guard descriptor >= 0 else { throw SystemError(attempt) }
        guard let stream = fdopendir(descriptor) else {
            close(descriptor)
            throw SystemError(attempt)
        }
        defer { closedir(stream) }
        var names: [[UInt8]] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
            if name.first != UInt8(ascii: ".") { names.append(name) }
        }
        return names.sorted { $0.lexicographicallyPrecedes($1) }
    }
}

/// Reads NetworkManager's connections with `nmcli`. ``Board`` uses this if there are no readable files.
struct NetworkManagerProgram {
    /// Name or path of the program. A name without a slash is searched in `PATH`.
    var program = "nmcli"

    private static let name = "nmcli connection show"

    func read() -> [SourceContents] {
        let list = ask(["--terse", "--escape", "no", "--fields", "UUID,TYPE", "connection", "show"]) {
            NetworkManagerSource.uuids(inListOf: $0)
        }
        return (list ?? []).prefix(ImportLimits.files).compactMap { uuid in
            ask(["--terse", "--escape", "no", "--show-secrets", "connection", "show", "uuid", uuid]) {
                NetworkManagerSource.answer($0, from: Self.name + " " + uuid)
            }
        }
    }

    /// - Returns: nil if the program is missing or fails.
    private func ask<Value>(_ arguments: [String], _ read: (UnsafeRawBufferPointer) -> Value) -> Value? {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        defer { close(ends[0]) }
        let environment =
            ChildProcess.ownEnvironment.filter { !$0.hasPrefix("LC_") && !$0.hasPrefix("LANG") } + ["LC_ALL=C"]
        let child = try? ChildProcess.start(
            program, ["--wait", "10"] + arguments, environment: environment, output: .descriptor(ends[1]),
            errors: .nothing)
        close(ends[1])
        guard let child else { return nil }
        let value = try? SourceFiles.withContents(of: ends[0], "read the answer of \(program)", read)
        if value == nil { kill(-child, SIGKILL) }
        return ChildProcess.wait(for: child) == 0 ? value : nil
    }
}
