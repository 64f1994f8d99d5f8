import AgentModel
import AppProtocol
import Glibc

/// Who the device is to its apps: a public id, and the local key that it shares with them. It is kept in two files of the
/// state directory, `device-id` and `local-key`, a line each.
public struct DeviceIdentity: Sendable {
    public let key: DeviceKey
    public var id: String { key.deviceId }
    var localKey: Secret { key.localKey }

    private static let idFile = "device-id"
    private static let keyFile = "local-key"

    public init(key: DeviceKey) { self.key = key }

    /// A new identity, with 256 random bits of key.
    /// - Parameter id: 1 to 64 printable ASCII characters without spaces, or nil for 64 random bits in hexadecimal digits.
    public static func random(id: String? = nil) throws(ProtocolError) -> DeviceIdentity {
        DeviceIdentity(key: try DeviceKey(deviceId: id ?? randomDigits(8), localKey: Secret(text: randomDigits(32))))
    }

    /// Reads the identity from `directory`, and makes a random one where there is none.
    static func load(from directory: String) throws(IdentityError) -> DeviceIdentity {
        for (name, byteCount) in [(idFile, 8), (keyFile, 32)] where try !isThere(name, in: directory) {
            try create(name, in: directory, content: Array((randomDigits(byteCount) + "\n").utf8), replacing: true)
        }
        return try read(from: directory)
    }

    /// - Throws: `missing` where the device has no identity yet.
    public static func read(from directory: String) throws(IdentityError) -> DeviceIdentity {
        let id = try line(of: idFile, in: directory)
        let key = try line(of: keyFile, in: directory)
        do {
            return DeviceIdentity(
                key: try DeviceKey(deviceId: id.withBytes { String(decoding: $0, as: UTF8.self) }, localKey: key))
        } catch {
            throw IdentityError(path: directory, .invalid(error.message))
        }
    }

    /// Gives it to the device whose state directory this is. The directory is made if it is missing.
    /// - Throws: `alreadyThere` where the device has an identity or a part of one, which stays as it is.
    public func install(in directory: String) throws(IdentityError) {
        var key = localKey.withBytes { Array($0) + [UInt8(ascii: "\n")] }
        defer { key.withUnsafeMutableBytes { wipe($0) } }
        guard key.firstIndex(of: UInt8(ascii: "\n")) == key.count - 1 else {
            throw IdentityError(path: directory, .invalid("a local key with a line feed cannot be kept in a file"))
        }
        mkdir(directory, 0o700)
        for name in [Self.idFile, Self.keyFile] where try Self.isThere(name, in: directory) {
            throw IdentityError(path: directory, .alreadyThere)
        }
        try Self.create(Self.keyFile, in: directory, content: key, replacing: false)
        try Self.create(Self.idFile, in: directory, content: Array((id + "\n").utf8), replacing: false)
    }

    private static func randomDigits(_ byteCount: Int) -> String {
        var generator = SystemRandomNumberGenerator()
        return Hex.string((0..<byteCount).map { _ in UInt8.random(in: 0...255, using: &generator) })
    }

    private static func isThere(_ name: String, in directory: String) throws(IdentityError) -> Bool {
        let path = "\(directory)/\(name)"
        guard access(path, F_OK) != 0 else { return true }
        guard errno == ENOENT else { throw IdentityError(path: path, errno: errno) }
        return false
    }

    private static func line(of name: String, in directory: String) throws(IdentityError) -> Secret {
        let path = "\(directory)/\(name)"
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw IdentityError(path: path, errno: errno) }
        defer { close(file) }
        var buffer = [UInt8](repeating: 0, count: 256)
        defer { buffer.withUnsafeMutableBytes { wipe($0) } }
        let count = Glibc.read(file, &buffer, buffer.count)
        guard count >= 0 else { throw IdentityError(path: path, errno: errno) }
        return Secret(buffer.prefix(count).prefix { $0 != UInt8(ascii: "\n") })
    }

    /// Under another name first, so that a power cut never leaves half a file.
    /// - Parameter replacing: false to leave alone what another process has put there meanwhile.
    private static func create(
        _ name: String, in directory: String, content: [UInt8], replacing: Bool
    ) throws(IdentityError) {
        let path = "\(directory)/\(name)"
        let temporary = path + ".new"
        let file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw IdentityError(path: temporary, errno: errno) }
        defer { close(file) }
        guard write(file, content, content.count) == content.count, fsync(file) == 0 else {
            throw IdentityError(path: temporary, errno: errno)
        }
        guard (replacing ? rename(temporary, path) : link(temporary, path)) == 0 else {
            let reason = errno
            unlink(temporary)
            throw reason == EEXIST
                ? IdentityError(path: directory, .alreadyThere) : IdentityError(path: path, errno: reason)
        }
        if !replacing { unlink(temporary) }
        let folder = open(directory, O_RDONLY | O_CLOEXEC)
        guard folder >= 0 else { throw IdentityError(path: directory, errno: errno) }
        defer { close(folder) }
        guard fsync(folder) == 0 else { throw IdentityError(path: directory, errno: errno) }
    }
}

public struct IdentityError: Error, Equatable, CustomStringConvertible {
    public let path: String
    public let reason: Reason

    public enum Reason: Sendable, Equatable {
        /// There is no identity yet.
        case missing
        /// There is one already.
        case alreadyThere
        /// What is there, or was to be, is none.
        case invalid(String)
        case notPermitted
        case system(errno: Int32)
    }

    init(path: String, _ reason: Reason) {
        self.path = path
        self.reason = reason
    }

    init(path: String, errno: Int32) {
        self.init(
            path: path,
            errno == ENOENT ? .missing : errno == EACCES || errno == EPERM ? .notPermitted : .system(errno: errno))
    }

    public var description: String {
        switch reason {
        case .missing: "\(path) is not there: the device has no identity yet, and gets one from 'altnet pair --install'"
        case .alreadyThere: "the device has an identity in \(path) already: 'altnet pair --show' shows it"
        case .invalid(let problem): "the device's identity in \(path): \(problem)"
        case .notPermitted: "the device's identity in \(path) belongs to another user: run as root"
        case .system(let errno): "the device's identity in \(path): \(String(cString: strerror(errno)))"
        }
    }
}
