import AgentModel
import AppProtocol
import Crypto
import NIOSSL

/// What the device shows in the TLS handshake: a certificate of its own, and its private key.
///
/// No authority vouches for it. A client knows it by its fingerprint, and has the device prove that it is its own.
public struct DeviceCertificate: Sendable {
    public let fingerprint: CertificateFingerprint
    /// The certificate and the private key (P-256), as PEM.
    public let pem: Secret
    let certificate: NIOSSLCertificate
    let privateKey: NIOSSLPrivateKey

    /// Longer is none, in bytes of PEM.
    public static let maximumLength = 4096

    /// Reads what ``pem`` has.
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
            // Whether the two belong together is only seen where they are used.
            _ = try NIOSSLContext(configuration: configuration)
        } catch {
            throw .unreadable
        }
    }

    /// A new one, with a random key.
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
    /// TLS 1.3, and 1.2 with ephemeral keys for clients that have no other.
    var configuration: TLSConfiguration {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(certificate)], privateKey: .privateKey(privateKey))
        configuration.minimumTLSVersion = .tlsv12
        configuration.cipherSuites = Self.cipherSuites
        configuration.curves = [.x25519, .secp256r1]
        configuration.applicationProtocols = [Framing.lines.rawValue, Framing.webSocket.rawValue]
        // How long a client is waited for that does not say goodbye when the server does.
        configuration.shutdownTimeout = .seconds(1)
        return configuration
    }

    /// Of TLS 1.2; BoringSSL chooses those of 1.3 by itself.
    static let cipherSuites =
        "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305"
}

/// Why there is no certificate.
public enum InvalidCertificate: Error, Equatable, Sendable, CustomStringConvertible {
    /// The text is no certificate with its key.
    case unreadable
    case notMade

    public var description: String {
        switch self {
        case .unreadable: "no certificate with its private key in PEM"
        case .notMade: "the certificate could not be made"
        }
    }
}

/// How lines travel in a connection from the network. The raw values are ALPN's (RFC 7301).
enum Framing: String {
    /// Each ends in a line feed. Also where the client names no protocol.
    case lines = "altnet"
    /// Each is a message of a WebSocket (RFC 6455).
    case webSocket = "http/1.1"
}
