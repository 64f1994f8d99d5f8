import AgentModel
import AppProtocol
import Crypto
import NIOSSL

/// The device's TLS certificate and its private key.
///
/// The certificate is self-signed. Clients identify it by its fingerprint or by the device's proof.
public struct DeviceCertificate: Sendable {
    public let fingerprint: CertificateFingerprint
    /// Certificate and P-256 key, both as PEM.
    public let pem: Secret
    let certificate: NIOSSLCertificate
    let privateKey: NIOSSLPrivateKey

    /// Largest accepted PEM in bytes.
    public static let maximumLength = 4096

    public init(pem: Secret) throws(InvalidCertificate) {
        do {
            var bytes = pem.withBytes { Array($0) }
            defer { bytes.withUnsafeMutableBytes { wipe($0) } }
            guard let certificate = try NIOSSLCertificate.fromPEMBytes(bytes).first else {
                throw InvalidCertificate.unreadable
            }
            (self.certificate, self.pem) = (certificate, pem)
            privateKey = try NIOSSLPrivateKey(bytes: bytes, format: .pem)
            fingerprint = CertificateFingerprint(of: try certificate.toDERBytes())
            // Verifies that key and certificate match.
            _ = try NIOSSLContext(configuration: configuration)
        } catch {
            throw .unreadable
        }
    }

    public static func random() throws(InvalidCertificate) -> DeviceCertificate {
        do {
            let key = P256.Signing.PrivateKey()
            let text = try key.pemRepresentation + "\n" + SelfSignedCertificate(of: key).pem + "\n"
            return try DeviceCertificate(pem: Secret(text: text))
        } catch {
            throw .notMade
        }
    }
}

extension DeviceCertificate {
    /// TLS configuration: TLS 1.3, and TLS 1.2 with ephemeral keys for older clients.
    var configuration: TLSConfiguration {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(certificate)], privateKey: .privateKey(privateKey))
        configuration.minimumTLSVersion = .tlsv12
        configuration.cipherSuites = Self.cipherSuites
        configuration.curves = [.x25519, .secp256r1]
        configuration.applicationProtocols = [Framing.lines.rawValue, Framing.webSocket.rawValue]
        // Wait at most 1 s for the client's close message.
        configuration.shutdownTimeout = .seconds(1)
        return configuration
    }

    /// Cipher suites of TLS 1.2 only. BoringSSL chooses those of TLS 1.3.
    static let cipherSuites =
        "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305"
}

/// An error while reading or creating a certificate.
public enum InvalidCertificate: Error, Equatable, Sendable, CustomStringConvertible {
    /// The PEM is not a certificate with its key.
    case unreadable
    case notMade

    public var description: String {
        switch self {
        case .unreadable: "not a certificate with its private key in PEM"
        case .notMade: "cannot create the certificate"
        }
    }
}

/// Framing of lines in a network connection. Raw values are ALPN names (RFC 7301).
enum Framing: String {
    /// A line feed ends each line. Clients without ALPN use this framing.
    case lines = "altnet"
    /// Each line is a WebSocket message (RFC 6455).
    case webSocket = "http/1.1"
}
