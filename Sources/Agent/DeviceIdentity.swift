import AgentModel
import AppProtocol
import Glibc

/// Who the device is to its apps: a public id, and the local key that it shares with them.
struct DeviceIdentity: Sendable {
    let key: DeviceKey
    var id: String { key.deviceId }
    var localKey: Secret { key.localKey }

    /// Reads the identity from `directory`, and makes a random one where there is none.
    static func load(from directory: String) throws(IdentityError) -> DeviceIdentity {
        let id = try content(of: "device-id", in: directory) { Hex.string(randomBytes(8)) + "\n" }
        let key = try content(of: "local-key", in: directory) { Hex.string(randomBytes(32)) + "\n" }
        let name = String(decoding: id.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        let secret = Secret(key.prefix { $0 != UInt8(ascii: "\n") })
        do { return DeviceIdentity(key: try DeviceKey(deviceId: name, localKey: secret)) } catch {
            throw IdentityError(path: directory, problem: error.message)
        }
    }

    private static func randomBytes(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }

    private static func content(
        of name: String, in directory: String, orNew make: () -> String
    ) throws(IdentityError) -> [UInt8] {
        let path = "\(directory)/\(name)"
        var file = open(path, O_RDONLY | O_CLOEXEC)
        if file < 0, errno == ENOENT {
            try create(path, in: directory, content: make())
            file = open(path, O_RDONLY | O_CLOEXEC)
        }
        guard file >= 0 else { throw IdentityError(path: path, errno: errno) }
        defer { close(file) }
        var buffer = [UInt8](repeating: 0, count: 256)
        let count = read(file, &buffer, buffer.count)
        guard count >= 0 else { throw IdentityError(path: path, errno: errno) }
        return Array(buffer.prefix(count))
    }

    /// Under another name first, so that a power cut never leaves half an identity.
    private static func create(_ path: String, in directory: String, content: String) throws(IdentityError) {
        let temporary = path + ".new"
        let file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw IdentityError(path: temporary, errno: errno) }
        defer { close(file) }
        let bytes = Array(content.utf8)
        guard write(file, bytes, bytes.count) == bytes.count, fsync(file) == 0, rename(temporary, path) == 0 else {
            throw IdentityError(path: path, errno: errno)
        }
        let folder = open(directory, O_RDONLY | O_CLOEXEC)
        guard folder >= 0 else { throw IdentityError(path: directory, errno: errno) }
        defer { close(folder) }
        guard fsync(folder) == 0 else { throw IdentityError(path: directory, errno: errno) }
    }
}

struct IdentityError: Error, CustomStringConvertible {
    let path: String
    let problem: String

    init(path: String, problem: String) {
        self.path = path
        self.problem = problem
    }

    init(path: String, errno: Int32) { self.init(path: path, problem: String(cString: strerror(errno))) }

    var description: String { "the device's identity in \(path): \(problem)" }
}
