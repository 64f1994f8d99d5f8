import AgentModel
import AppProtocol
import Glibc
import Linux

/// Serves one connection to the host: answers the request, or becomes the provider's process.
public struct ProviderHost: Sendable {
    private let directory: ProviderDirectory

    /// Resource limits of a provider, more than it needs to fill in forms.
    public static let limits = ChildProcess.Limits(
        addressSpace: 1 << 29, fileSize: 1 << 20, processorTime: 60, processes: 64, openFiles: 64)
    /// Maximum bytes of the first line, and its time limit in ms.
    private static let lineLength = 256
    private static let lineTime: Int64 = 5000

    public init(directory: ProviderDirectory) { self.directory = directory }

    /// Serves the connection on standard input. Sends the answer, or the provider's output, to the same connection.
    public func serveStandardInput() throws(ProtocolError) {
        guard let line = Self.firstLine(0) else {
            throw ProtocolError(.malformed, "the request is missing")
        }
        // The provider writes to the same socket.
        guard dup2(0, 1) == 1 else { throw ProtocolError(.internalError, "standard input is not a connection") }
        do throws(ProtocolError) {
            switch try HostRequest(line: line) {
            case .list: write(try directory.list().line())
            case .open(let provider): throw become(provider)
            }
        } catch {
            write(error.providerLine(to: nil))
            throw error
        }
    }

    /// Replaces this process by the provider. Returns only on failure.
    private func become(_ provider: String) -> ProtocolError {
        guard let program = directory.program(provider) else {
            return ProtocolError(.unsupported, "no provider has this name")
        }
        let failure = ChildProcess.become(
            program, [], environment: ["PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"], limits: Self.limits)
        return ProtocolError(.internalError, "cannot start the provider: \(failure)")
    }

    /// Reads the first line byte by byte, because later bytes are for the provider.
    private static func firstLine(_ descriptor: Int32) -> [UInt8]? {
        var line: [UInt8] = []
        let end = now() + lineTime
        while line.count <= lineLength {
            let left = Duration.milliseconds(end - now())
            guard Readiness.readable.wait(on: descriptor, within: left) else { return nil }
            var byte: UInt8 = 0
            guard read(descriptor, &byte, 1) == 1 else { return nil }
            if byte == UInt8(ascii: "\n") { return line }
            line.append(byte)
        }
        return nil
    }

    private static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    private func write(_ line: [UInt8]) {
        let bytes = line + [UInt8(ascii: "\n")]
        // A short line fits into the empty socket. A client that does not read only sees the connection close.
        _ = bytes.withUnsafeBytes { Glibc.send(1, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }
}

/// A directory of programs that only root can write: the providers, or the hooks.
public struct ProviderDirectory: Sendable {
    public let path: String
    private let allowsLinks: Bool

    /// - Parameter allowsLinks: true to follow symbolic links in the directory.
    public init(path: String, allowsLinks: Bool = true) { (self.path, self.allowsLinks) = (path, allowsLinks) }

    /// - Throws: if the directory is unreadable or writable by other users.
    public func list() throws(ProtocolError) -> ProviderList {
        ProviderList(names: try entries().filter { program($0) != nil })
    }

    /// Returns the visible entries that are not trusted programs, such as files that others can write, at most 16.
    /// - Throws: if the directory is unreadable or writable by other users.
    public func refused() throws(ProtocolError) -> [String] {
        Array(
            try entries().filter { !$0.hasPrefix(".") && program($0) == nil }.sorted().prefix(ProviderLimits.providers))
    }

    private func entries() throws(ProtocolError) -> [String] {
        guard isTrusted(path, S_IFDIR) else {
            throw ProtocolError(
                .storageFailed, "\(path.printable) is missing, or users other than root can write to it")
        }
        guard let directory = opendir(path) else {
            throw ProtocolError(.storageFailed, "cannot read \(path.printable)")
        }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            names.append(name)
        }
        return names
    }

    /// - Returns: path of the provider's program; nil if it is missing or writable by other users.
    public func program(_ name: String) -> String? {
        let file = path + "/" + name
        guard ProviderLimits.isName(name), isTrusted(path, S_IFDIR),
            isTrusted(file, S_IFREG, followsLinks: allowsLinks), access(file, X_OK) == 0
        else { return nil }
        return file
    }

    private func isTrusted(_ path: String, _ kind: mode_t, followsLinks: Bool = true) -> Bool {
        var information = stat()
        return fstatat(AT_FDCWD, path, &information, followsLinks ? 0 : AT_SYMLINK_NOFOLLOW) == 0
            && information.st_mode & S_IFMT == kind
            && information.st_uid == 0 && information.st_mode & (S_IWGRP | S_IWOTH) == 0
    }
}
