import AgentModel
import AppProtocol
import AppServer
import Glibc
import KeyFile

/// Identity of the device for apps: a public ID, the local key shared with the owner's app, and the certificate. Stored
/// in the state directory as `device-id`, `local-key` (one line each) and `certificate`.
public struct DeviceIdentity: Sendable {
    /// Key for apps, with the certificate's fingerprint if there is a certificate.
    public let key: DeviceKey
    /// The device's certificate; nil before the agent's first start, which creates it.
    public let certificate: DeviceCertificate?
    public var id: String { key.deviceId }
    package var localKey: Secret { key.localKey }

    public init(key: DeviceKey, certificate: DeviceCertificate? = nil) {
        var key = key
        key.certificate = certificate?.fingerprint
        (self.key, self.certificate) = (key, certificate)
    }

    /// Pseudonyms of networks, derived from the certificate's private key, which never leaves the device. They are
    /// random without a certificate.
    package var networkNames: NetworkNames {
        certificate.map { NetworkNames(derivedFrom: $0.pem) } ?? NetworkNames()
    }

    /// Returns true if ID and local key are equal. Ignores the certificate.
    package func hasKey(of other: DeviceIdentity) -> Bool { id == other.id && localKey == other.localKey }

    /// Creates an identity with a random key of 256 bits.
    /// - Parameter id: 1 to 64 printable ASCII characters without spaces; nil for 64 random bits in hexadecimal digits.
    public static func random(id: String? = nil) throws(ProtocolError) -> DeviceIdentity {
        DeviceIdentity(key: try DeviceKey(deviceId: id ?? randomDigits(8), localKey: Secret(text: randomDigits(32))))
    }

    /// Reads the identity, or creates a random one if there is none.
    package static func load(from directory: String) throws(IdentityError) -> DeviceIdentity {
        let folder = IdentityFolder(try inside(directory) { path throws(KeyFileError) in try Folder.open(path) })
        try folder.complete()
        return try folder.read()
    }

    /// Reads the identity without changing files.
    /// - Throws: `missing` if the device has no identity yet.
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
        case missing
        case alreadyThere
        /// The files or the given identity are invalid.
        case invalid(String)
        case notPermitted
        case system(SystemError)
    }

    init(path: String, _ reason: Reason) {
        self.path = path
        self.reason = reason
    }

    /// - Parameter folder: folder of the device's identity.
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
        case .missing: "\(path) is missing: run 'altnet provision' to give the device an identity"
        case .alreadyThere: "the device already has an identity in \(path): 'altnet pair --show' shows it"
        case .invalid(let problem): "the device's identity in \(path): \(problem)"
        case .notPermitted: "the device's identity in \(path) belongs to another user: run as root"
        case .system(let error):
            "the device's identity in \(path): \(error.reason)" + KeyFileError.remedy(for: error.errno)
        }
    }
}
