import AgentModel
import Glibc
import Import
import Linux
import Netlink

/// The files of this machine, or of another one that is mounted somewhere, in which programs keep networks. They are
/// read and never changed.
struct Board {
    /// Nothing for this machine, else the folder in which the other one is mounted.
    let root: String
    /// Asked where NetworkManager has no files that can be read; nil for a machine that is mounted.
    let networkManager: NetworkManagerProgram?

    init(root: String? = nil) { self.init(root: root ?? "", networkManager: root == nil ? .init() : nil) }

    init(root: String, networkManager: NetworkManagerProgram?) {
        (self.root, self.networkManager) = (root, networkManager)
    }

    /// In the order in which the sources are believed.
    func read() -> [SourceContents] {
        let timestamps =
            (try? SourceFile.withContents(of: root + BoardFile.timestamps) { bytes, _ in
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
        do throws(SystemError) { names = try SourceFile.names(in: root + folder.path) } catch {
            guard error.errno != ENOENT, error.errno != ENOTDIR else { return [] }
            return [SourceContents(Finding(Place(folder.path), .unreadable(error)))]
        }
        let wanted = names.filter(folder.takes)
        var contents = wanted.prefix(ImportLimits.files).map { name in
            read(folder, folder.path + "/" + String(decoding: name, as: UTF8.self), timestamps, name: name)
        }
        if wanted.count > ImportLimits.files {
            contents.append(SourceContents(Finding(Place(folder.path), .tooMany("files"))))
        }
        // Netplan's later files count more.
        return folder.format == .netplan ? contents.reversed() : contents
    }

    private func read(
        _ file: BoardFile, _ path: String, _ timestamps: NetworkManagerSource.Timestamps, name: [UInt8]? = nil
    ) -> SourceContents {
        do throws(SystemError) {
            let place = root + (name == nil ? file.path : file.path + "/")
            return try SourceFile.withContents(of: place, name: name) { bytes, changed in
                file.read(bytes, from: path, named: name ?? [], changed: changed, timestamps: timestamps)
            }
        } catch {
            if error.errno == ENOENT || error.errno == ENOTDIR { return SourceContents() }
            let reason: Finding.Reason = error.errno == EFBIG ? .tooLong : .unreadable(error)
            return SourceContents(Finding(Place(path), reason))
        }
    }

    /// The networks that the stations of this machine are in. None where the kernel does not say.
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

/// Reads files with secrets: into memory that is overwritten afterwards.
enum SourceFile {
    /// - Parameters:
    ///   - path: of a file, or of a folder with a slash behind it.
    ///   - name: the file's in the folder, which need not be text.
    ///   - body: gets the content, and when it was last written in seconds since 1970.
    /// - Throws: the failure of a system call, `EFBIG` for a file that is longer than the limit, `EINVAL` for what is
    ///   no ordinary file.
    static func withContents<Value>(
        of path: String, name: [UInt8]? = nil, _ body: (UnsafeRawBufferPointer, UInt64?) -> Value
    ) throws(SystemError) -> Value {
        let bytes = Array(path.utf8) + (name ?? []) + [0]
        let attempt = "read \(String(printable: bytes.dropLast()))"
        // A pipe would block without O_NONBLOCK.
        let file = bytes.withUnsafeBytes { bytes in
            bytes.withMemoryRebound(to: CChar.self) { name in
                name.baseAddress.map { open($0, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) } ?? -1
            }
        }
        guard file >= 0 else { throw SystemError(attempt) }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { throw SystemError(attempt) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw SystemError(attempt, errno: EINVAL) }
        guard status.st_size <= ImportLimits.sourceLength else { throw SystemError(attempt, errno: EFBIG) }
        let changed = UInt64(exactly: status.st_mtim.tv_sec)
        return try withContents(of: file, attempt) { body($0, changed) }
    }

    /// Reads a descriptor to its end.
    /// - Throws: `EFBIG` where that is longer than the limit.
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

    /// Of the files of a folder, in order, without those that begin with a dot.
    static func names(in folder: String) throws(SystemError) -> [[UInt8]] {
        guard let stream = opendir(folder) else { throw SystemError("read \(folder.printable)") }
        defer { closedir(stream) }
        var names: [[UInt8]] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
            if name.first != UInt8(ascii: ".") { names.append(name) }
        }
        return names.sorted { $0.lexicographicallyPrecedes($1) }
    }
}

/// NetworkManager's own command line, for connections that it has in no file that can be read.
struct NetworkManagerProgram {
    /// Searched in `PATH` where it contains no slash.
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

    /// - Returns: nil where the program is not there, or NetworkManager does not run.
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
        let value = try? SourceFile.withContents(of: ends[0], "read the answer of \(program)", read)
        if value == nil { kill(-child, SIGKILL) }
        return ChildProcess.wait(for: child) == 0 ? value : nil
    }
}
