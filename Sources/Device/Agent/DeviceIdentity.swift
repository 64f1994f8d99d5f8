import AgentModel
import AppProtocol
import AppServer
import Glibc
import KeyFile

/// The device's identity for its apps: a public id, the local key that it shares with its owner's app, and the
/// certificate that it shows. It is kept in files of the state directory: `device-id` and `local-key`, a line each, and
/// `certificate`.
public struct DeviceIdentity: Sendable {
    /// With the fingerprint of the certificate, where there is one.
    public let key: DeviceKey
    /// Nil where the device has none yet: it makes one when its agent starts.
    public let certificate: DeviceCertificate?
    public var id: String { key.deviceId }
    package var localKey: Secret { key.localKey }

    public init(key: DeviceKey, certificate: DeviceCertificate? = nil) {
        var key = key
        key.certificate = certificate?.fingerprint
        (self.key, self.certificate) = (key, certificate)
    }

    /// Names of networks by the private key of its certificate, which leaves the device never. They are random where it
    /// has none.
    package var networkNames: NetworkNames {
        certificate.map { NetworkNames(derivedFrom: $0.pem) } ?? NetworkNames()
    }

    /// Whether it is the same device under the same key, whatever its certificate is.
    package func hasKey(of other: DeviceIdentity) -> Bool { id == other.id && localKey == other.localKey }

    /// A new identity, with 256 random bits of key.
    /// - Parameter id: 1 to 64 printable ASCII characters without spaces, or nil for 64 random bits in hexadecimal
    ///   digits.
    public static func random(id: String? = nil) throws(ProtocolError) -> DeviceIdentity {
        DeviceIdentity(key: try DeviceKey(deviceId: id ?? randomDigits(8), localKey: Secret(text: randomDigits(32))))
    }

    /// Reads the identity from `directory`, and makes a random one where there is none.
    package static func load(from directory: String) throws(IdentityError) -> DeviceIdentity {
        let folder = IdentityFolder(try inside(directory) { path throws(KeyFileError) in try Folder.open(path) })
        try folder.complete()
        return try folder.read()
    }

    /// Changes nothing on the disk.
    /// - Throws: `missing` where the device has no identity yet.
    public static func read(from directory: String) throws(IdentityError) -> DeviceIdentity {
        try IdentityFolder(try inside(directory) { path throws(KeyFileError) in try Folder.openForReading(path) })
            .read()
    }

    private static func inside(
        _ directory: String, _ open: (String) throws(KeyFileError) -> any FileOperations
    ) throws(IdentityError) -> any FileOperations {
        do { return try open(directory) } catch { throw IdentityError(error, in: directory) }
    }

    static func randomDigits(_ byteCount: Int) -> String {
        var generator = SystemRandomNumberGenerator()
        return Hex.string((0..<byteCount).map { _ in UInt8.random(in: 0...255, using: &generator) })
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
        /// The content is no identity, or the given one is none.
        case invalid(String)
        case notPermitted
        case system(SystemError)
    }

    init(path: String, _ reason: Reason) {
        self.path = path
        self.reason = reason
    }

    /// - Parameter folder: of the device's identity.
    init(_ error: KeyFileError, in folder: String) {
        guard case .system(let attempt, let path, let errno) = error else {
            self.init(path: folder, .invalid("\(error)"))
            return
        }
        self.init(
            path: path,
            errno == ENOENT
                ? .missing
                : errno == EACCES || errno == EPERM
                    ? .notPermitted : .system(SystemError(attempt.rawValue, errno: errno)))
    }

    public var description: String {
        switch reason {
        case .missing: "\(path) is not there: the device has no identity yet, and gets one from 'altnet provision'"
        case .alreadyThere: "the device has an identity in \(path) already: 'altnet pair --show' shows it"
        case .invalid(let problem): "the device's identity in \(path): \(problem)"
        case .notPermitted: "the device's identity in \(path) belongs to another user: run as root"
        case .system(let error):
            "the device's identity in \(path): \(error.reason)" + KeyFileError.remedy(for: error.errno)
        }
    }
}
