import AgentModel
import NIOSSL

/// Whom targets with TLS have to be vouched for by.
public final class TargetTrust: Sendable {
    let context: NIOSSLContext

    /// Reads and parses the certificates, which takes some ten milliseconds: made once, for all targets.
    /// - Parameter authorities: a file of certificates (PEM); nil for those of the system.
    public init(authorities: String? = nil) throws(TrustError) {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        do {
            if let authorities {
                configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(authorities))
            }
            context = try NIOSSLContext(configuration: configuration)
        } catch {
            throw .unreadable(path: authorities ?? "of the system")
        }
    }
}

/// Why no certificates can be checked.
public enum TrustError: Error, Equatable, Sendable {
    case unreadable(path: String)
}

extension TrustError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unreadable(let path): "the certificates \(path.printable) cannot be read: a PEM file is needed"
        }
    }
}
