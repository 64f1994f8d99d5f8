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
        for file in BoardFile.all where !(file.isFolder && file.format == .netplan && file != Self.netplan.first) {
            let contents =
                file == Self.netplan.first
                ? readNetplan() : file.isFolder ? readFolder(file, timestamps) : [read(file, file.path, timestamps)]
            if file.format == .networkManager {
                hasConnections = hasConnections || contents.contains { !$0.networks.isEmpty || !$0.findings.isEmpty }
            }
            sources += contents
            // Read files elsewhere that ifupdown passes to wpa_supplicant.
            let paths = Set(contents.flatMap(\.references)).filter { !BoardFile.contains($0) }
            sources += paths.sorted().prefix(ImportLimits.files).map { path in
                read(BoardFile(path, .wpaSupplicant), path, timestamps)
            }
        }
        if let networkManager, !hasConnections { sources.insert(contentsOf: networkManager.read(), at: 0) }
        return sources
    }

    private static let netplan = BoardFile.all.filter { $0.isFolder && $0.format == .netplan }

    /// Reads netplan's folders, whose files belong together.
    private func readNetplan() -> [SourceContents] {
        var paths: [[UInt8]: BoardFile] = [:]
        var problems: [SourceContents] = []
        for folder in Self.netplan {
            let (names, problem) = names(in: folder)
            paths.merge(names.map { ($0, folder) }) { first, _ in first }
            problems += problem
        }
        var files: [NetplanSource.File] = []
        for (name, folder) in paths.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            let path = folder.path + "/" + String(decoding: name, as: UTF8.self)
            let read = withContents(of: folder, path, name: name) { bytes, _ in
                files.append(NetplanSource.file(bytes, from: path))
                return SourceContents()
            }
            problems.append(read)
        }
        return [NetplanSource.contents(of: files)] + problems
    }

    private func readFolder(_ folder: BoardFile, _ timestamps: NetworkManagerSource.Timestamps) -> [SourceContents] {
        let (names, problems) = names(in: folder)
        if case .unread = folder.format, !names.isEmpty {
            return [
                folder.read(.init(start: nil, count: 0), from: folder.path, named: [], changed: nil, timestamps: [:])
            ]
        }
        return names.map { name in
            read(folder, folder.path + "/" + String(decoding: name, as: UTF8.self), timestamps, name: name)
        } + problems
    }

    private func names(in folder: BoardFile) -> (names: [[UInt8]], problems: [SourceContents]) {
        do throws(SystemError) {
            let names = try files.names(in: folder.path).filter(folder.matches)
            guard names.count > ImportLimits.files else { return (names, []) }
            let problem = ImportFinding(ImportLocation(folder.path), .tooMany("files"))
            return (Array(names.prefix(ImportLimits.files)), [SourceContents(problem)])
        } catch {
            guard error.errno != ENOENT, error.errno != ENOTDIR else { return ([], []) }
            return ([], [SourceContents(ImportFinding(ImportLocation(folder.path), .unreadable(error)))])
        }
    }

    private func read(
        _ file: BoardFile, _ path: String, _ timestamps: NetworkManagerSource.Timestamps, name: [UInt8]? = nil
    ) -> SourceContents {
        withContents(of: file, path, name: name) { bytes, changed in
            file.read(bytes, from: path, named: name ?? [], changed: changed, timestamps: timestamps)
        }
    }

    private func withContents(
        of file: BoardFile, _ path: String, name: [UInt8]?,
        _ body: (UnsafeRawBufferPointer, UInt64?) -> SourceContents
    ) -> SourceContents {
        do throws(SystemError) {
            return try files.withContents(of: name == nil ? file.path : file.path + "/", name: name, body)
        } catch {
            let reason: ImportFinding.Reason
            switch error.errno {
            case ENOENT, ENOTDIR, EINVAL:
                // A link to /dev/null hides a file of the package.
                let target = files.linkTarget(of: Array(file.path.utf8) + (name.map { Array("/".utf8) + $0 } ?? []))
                guard target != nil || error.errno == EINVAL, target != "/dev/null" else { return SourceContents() }
                reason = error.errno == EINVAL ? .notAFile : .brokenLink
            case EFBIG: reason = .tooLong
            default: reason = .unreadable(error)
            }
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

    /// Returns the target of a link; nil for anything else.
    func linkTarget(of path: [UInt8]) -> String? {
        // `O_PATH`, which Swift does not import: opens the link itself.
        let link = open(path, 0x20_0000 | O_NOFOLLOW)
        guard link >= 0 else { return nil }
        defer { close(link) }
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        let length = readlinkat(link, "", &target, target.count)
        return length < 0 ? nil : String(decoding: target.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
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
