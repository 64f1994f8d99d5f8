import AgentModel
import Glibc

/// Credentials for the broker: files in one folder, or credentials of the service (systemd.exec(5), LoadCredential=).
package struct BrokerSecrets {
    /// Path of the PEM file with the authorities for the broker's certificate; nil for the system's authorities.
    package var authorities: String?
    /// Paths of the PEM files with the device's certificate and its key; both or neither.
    package var certificate: String?
    package var key: String?
    package var password: Secret?
    /// Pre-shared key and its identity, in place of certificates.
    package var shared: (identity: String, key: Secret)?

    /// Folder of the secrets on a board. systemd reads it; the service's user cannot.
    package static let folder = "/etc/altnet/mqtt"
    private static let longest = 4096

    /// Uses authorities only, without credentials of the device.
    package init(authorities: String?) { self.authorities = authorities }

    /// - Parameters:
    ///   - folder: folder of the files; nil for the service's credentials or, without these, ``folder``.
    ///   - credentials: value of `$CREDENTIALS_DIRECTORY`.
    /// - Throws: ``BrokerSecretsFault`` if a file cannot be read or is malformed.
    package init(folder: String?, credentials: String?) throws(BrokerSecretsFault) {
        func path(_ name: String) -> String? {
            let path =
                if let folder { "\(folder)/\(name)" } else if let credentials { "\(credentials)/mqtt_\(name)" } else {
                    "\(Self.folder)/\(name)"
                }
            return access(path, F_OK) == 0 ? path : nil
        }
        authorities = path("ca.pem")
        (certificate, key) = (path("certificate.pem"), path("key.pem"))
        for file in [authorities, certificate, key] {
            guard let file, access(file, R_OK) != 0 else { continue }
            throw BrokerSecretsFault(path: file, problem: String(cString: strerror(errno)))
        }
        guard (certificate == nil) == (key == nil) else {
            throw BrokerSecretsFault(
                path: certificate ?? key ?? "", problem: "certificate.pem and key.pem must both exist")
        }
        if let path = path("password") { password = Secret(try Self.line(path)) }
        if let path = path("psk") {
            let line = try Self.line(path)
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), (1...64).contains(colon),
                let identity = String(validating: line[..<colon], as: UTF8.self),
                let bytes = Hex.bytes(String(decoding: line[(colon + 1)...], as: UTF8.self)),
                (16...64).contains(bytes.count)
            else {
                throw BrokerSecretsFault(
                    path: path, problem: "is not IDENTITY:KEY, with a key of 16 to 64 bytes in hexadecimal digits")
            }
            shared = (identity, Secret(line[(colon + 1)...]))
        }
    }

    /// Returns the first line of a file that is shorter than 4,096 bytes.
    package static func line(_ path: String) throws(BrokerSecretsFault) -> [UInt8] {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { throw BrokerSecretsFault(path: path, problem: String(cString: strerror(errno))) }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: longest)
        defer { bytes.withUnsafeMutableBytes { wipe($0) } }
        let count = read(file, &bytes, bytes.count)
        guard count >= 0 else { throw BrokerSecretsFault(path: path, problem: String(cString: strerror(errno))) }
        let line = Array(bytes[..<count].prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") })
        guard !line.isEmpty, count < longest, !line.contains(0) else {
            throw BrokerSecretsFault(path: path, problem: "has no line of 1 to \(longest - 1) bytes")
        }
        return line
    }
}

package struct BrokerSecretsFault: Error, CustomStringConvertible {
    package let path: String
    package let problem: String

    package var description: String { "\(path.printable): \(problem)" }
}
