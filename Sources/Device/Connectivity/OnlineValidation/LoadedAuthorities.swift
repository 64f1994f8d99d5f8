import NIOSSL
import Synchronization

/// Whose certificates are trusted, read when they are needed first and then kept: those of the system are some megabytes,
/// and take a small machine a good part of a second.
final class LoadedAuthorities: Sendable {
    private let authorities: WebClient.Authorities
    private let loaded = Mutex<NIOSSLContext?>(nil)

    init(_ authorities: WebClient.Authorities) { self.authorities = authorities }

    /// Where they could not be read it is tried again the next time.
    var context: NIOSSLContext {
        get throws(WebFailure) {
            let result = loaded.withLock { loaded in
                if loaded == nil { loaded = try? NIOSSLContext(configuration: configuration) }
                return loaded
            }
            guard let result else { throw .noAuthorities }
            return result
        }
    }

    private var configuration: TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.shutdownTimeout = .seconds(1)
        configuration.applicationProtocols = ["http/1.1"]
        if case .file(let path) = authorities { configuration.trustRoots = .file(path) }
        return configuration
    }
}
