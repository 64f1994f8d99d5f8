import AgentModel

/// An enterprise credential as written in a source. Its certificates and key are mostly in separate files.
public struct EnterpriseDraft: Sendable, Equatable {
    /// First EAP method as written, such as `peap` or `PEAP`.
    var method: String?
    /// Inner method as written, such as `mschapv2`, `auth=MSCHAPV2` or `Tunneled-PAP`.
    var inner: String?
    var identity: String?
    var anonymousIdentity: String?
    var password: Secret?
    /// Reason why the source has no password; nil if it has one.
    var obstacle: ImportFinding.Reason?
    /// Certificates and keys inside the source, by the name that the settings use in place of a path.
    var embedded: [String: Secret] = [:]
    /// Path of the device's certificate.
    var clientCertificate: String?
    /// Path of the device's private key.
    var privateKey: String?
    /// Path of the authority's certificate.
    var caCertificate: String?
    var usesSystemAuthorities = false
    /// Domain that contains the name in the server's certificate.
    var serverName: String?
    /// Name of an unsupported setting that may restrict the server's certificate.
    var unknownSetting: String?

    /// Paths of the system's certificate authorities on Debian and other systems.
    static let systemAuthorities: Set<String> = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem", "/etc/ssl/certs",
    ]

    /// - Parameter read: returns the content of a file; nil if it cannot be read.
    func credential(_ read: (_ path: String) -> Secret?) -> Result<EnterpriseCredential, Refusal> {
        guard let name = method?.lowercased(), !name.isEmpty else { return .failure(Refusal(reason: .enterprise)) }
        guard let method = EnterpriseCredential.Method(rawValue: name) else {
            return .failure(Refusal(reason: .enterpriseMethod(name)))
        }
        if let unknownSetting { return .failure(Refusal(reason: .unknownSetting(unknownSetting))) }
        guard let inner = innerMethod(of: method) else {
            return .failure(Refusal(reason: .enterpriseMethod("\(name) with \(inner ?? "")")))
        }
        if method != .tls, password == nil, let obstacle { return .failure(Refusal(reason: obstacle)) }
        guard caCertificate != nil || usesSystemAuthorities else {
            return .failure(Refusal(reason: .serverUnchecked))
        }
        let isTLS = method == .tls
        do throws(Refusal) {
            let authority = usesSystemAuthorities ? nil : try content(of: caCertificate, read)
            let certificate = isTLS ? try content(of: clientCertificate, read) : nil
            let key = isTLS ? try content(of: privateKey, read) : nil
            do throws(InvalidEnterprise) {
                return .success(
                    try EnterpriseCredential(
                        method: method, inner: isTLS ? nil : inner, identity: identity,
                        anonymousIdentity: anonymousIdentity.flatMap { $0.isEmpty ? nil : $0 },
                        password: isTLS ? nil : password, clientCertificate: certificate.map(Self.text),
                        privateKey: key, caCertificate: authority.map(Self.text),
                        usesSystemAuthorities: usesSystemAuthorities,
                        serverName: serverName.flatMap { $0.isEmpty ? nil : $0 }))
            } catch {
                throw Refusal(reason: .impossibleEnterprise(error))
            }
        } catch {
            return .failure(error)
        }
    }

    private func content(of path: String?, _ read: (String) -> Secret?) throws(Refusal) -> Secret? {
        guard let path else { return nil }
        if let content = embedded[path] { return content }
        guard path.hasPrefix("/"), let content = read(path) else {
            throw Refusal(reason: .certificateUnreadable(path))
        }
        return content
    }

    private static func text(_ secret: Secret) -> String { secret.withBytes { String(decoding: $0, as: UTF8.self) } }

    /// Returns the inner method; nil if altnet does not support it.
    private func innerMethod(of method: EnterpriseCredential.Method) -> EnterpriseCredential.Inner? {
        guard method != .tls, let inner, !inner.isEmpty else { return .mschapv2 }
        let words = inner.lowercased().split(whereSeparator: { " =-".contains($0) })
        if words.contains("mschapv2") { return .mschapv2 }
        return words.contains("pap") && method == .ttls ? .pap : nil
    }

    /// - Parameter path: path with or without `file://`.
    mutating func setAuthority(_ path: String?) {
        guard let path = path.map(Self.path), !path.isEmpty else { return }
        if Self.systemAuthorities.contains(path) {
            usesSystemAuthorities = true
        } else {
            caCertificate = path
        }
    }

    static func file(_ path: String?) -> String? { path.map(Self.path).flatMap { $0.isEmpty ? nil : $0 } }

    private static func path(_ text: String) -> String {
        text.hasPrefix("file://") ? String(text.dropFirst("file://".count)) : text
    }

    struct Refusal: Error {
        let reason: ImportFinding.Reason
    }
}

extension SourceContents {
    /// Reads the certificates and keys of enterprise networks. Replaces a network by a finding if that fails, or if
    /// altnet does not support the network.
    /// - Parameter read: returns the content of a file; nil if it cannot be read.
    public mutating func resolveFiles(_ read: (_ path: String) -> Secret?) {
        var resolved: [FoundNetwork] = []
        for var network in networks {
            if case .unresolved(let draft) = network.credential {
                switch draft.credential(read) {
                case .success(let credential): network.credential = .enterprise(credential)
                case .failure(let refusal):
                    findings.append(ImportFinding(network.place, network.ssid, refusal.reason))
                    continue
                }
            }
            resolved.append(network)
        }
        networks = resolved
    }
}
