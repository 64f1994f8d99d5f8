import AgentModel
import AppProtocol
import ArgumentParser

struct EnterpriseOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The method of an enterprise network (802.1X): peap, ttls or tls.", valueName: "method"))
    var eap: EnterpriseCredential.Method?

    @Option(
        help: ArgumentHelp(
            "With --eap ttls: the inner method, mschapv2 or pap (default: mschapv2).", valueName: "method"))
    var inner: EnterpriseCredential.Inner?

    @Option(help: ArgumentHelp("With --eap: the user name.", valueName: "name"))
    var identity: String?

    @Option(
        help: ArgumentHelp(
            "With --eap: the outer identity, sent unencrypted (default: the user name).", valueName: "name"))
    var anonymousIdentity: String?

    @Option(
        help: ArgumentHelp(
            "With --eap: the CA certificate for the server, in PEM.", valueName: "path"),
        completion: .file())
    var caCert: String?

    @Flag(help: "With --eap and --server-name: trust the system's certificate authorities.")
    var systemCa = false

    @Option(
        help: ArgumentHelp(
            "With --eap: the name in the server's certificate, or its domain.", valueName: "name"))
    var serverName: String?

    @Option(
        help: ArgumentHelp(
            "With --eap tls: the device's certificate in PEM, followed by its intermediate certificates.",
            valueName: "path"),
        completion: .file())
    var clientCert: String?

    @Option(
        help: ArgumentHelp(
            "With --eap tls: the certificate's key, in PEM, without a passphrase.", valueName: "path"),
        completion: .file())
    var privateKey: String?

    var isGiven: Bool { eap != nil || hasDetails }

    private var hasDetails: Bool {
        inner != nil || identity != nil || anonymousIdentity != nil || caCert != nil || systemCa || serverName != nil
            || clientCert != nil || privateKey != nil
    }

    var hasPassword: Bool { eap != nil && eap != .tls }

    func validate() throws {
        guard let eap else {
            if hasDetails {
                throw ValidationError(
                    "--inner, --identity, --anonymous-identity, --ca-cert, --system-ca, --server-name, --client-cert and "
                        + "--private-key need --eap")
            }
            return
        }
        guard identity != nil else { throw ValidationError("--eap needs --identity") }
        guard (caCert != nil) != systemCa else {
            throw ValidationError(
                "--eap needs either --ca-cert or --system-ca, to check the server's certificate")
        }
        if systemCa, serverName == nil { throw ValidationError("--system-ca needs --server-name") }
        if inner != nil, eap != .ttls { throw ValidationError("--inner needs --eap ttls") }
        if eap == .tls {
            guard clientCert != nil, privateKey != nil else {
                throw ValidationError("--eap tls needs --client-cert and --private-key")
            }
        } else if clientCert != nil || privateKey != nil {
            throw ValidationError("--client-cert and --private-key need --eap tls")
        }
    }

    /// - Parameter password: nil for `tls`.
    /// - Returns: the credential; nil without `--eap`.
    func credential(password: Secret?) throws -> EnterpriseCredential? {
        guard let eap else { return nil }
        let authority = try caCert.map { try Self.text(at: $0) }
        let certificate = try clientCert.map { try Self.text(at: $0) }
        let key = try privateKey.map { try Self.content(of: $0) }
        do throws(InvalidEnterprise) {
            return try EnterpriseCredential(
                method: eap, inner: inner, identity: identity, anonymousIdentity: anonymousIdentity,
                password: password, clientCertificate: certificate, privateKey: key, caCertificate: authority,
                usesSystemAuthorities: systemCa, serverName: serverName)
        } catch {
            throw CommandFailure(.badData, "\(Self.option(error.part)): \(error)")
        }
    }

    /// Maximum size of a file in bytes. It has room for the text of `openssl x509 -text` beside the certificates.
    private static let maximumLength = 64 * 1024

    private static func content(of path: String) throws -> Secret {
        var bytes = try PrivateFile.read(path, maximum: maximumLength)
        defer { bytes.withUnsafeMutableBytes { wipe($0) } }
        guard bytes.count <= maximumLength else {
            throw CommandFailure(.badData, "\(path.printable) is longer than \(maximumLength) bytes")
        }
        return Secret(bytes)
    }

    private static func text(at path: String) throws -> String {
        try content(of: path).withBytes { String(decoding: $0, as: UTF8.self) }
    }

    private static func option(_ part: EnterpriseCredential.Part) -> String {
        switch part {
        case .inner: "--inner"
        case .identity: "--identity"
        case .anonymousIdentity: "--anonymous-identity"
        case .password: "the password"
        case .clientCertificate: "--client-cert"
        case .privateKey: "--private-key"
        case .caCertificate: "--ca-cert"
        case .serverName: "--server-name"
        }
    }
}

extension EnterpriseCredential.Method: ExpressibleByArgument {}
extension EnterpriseCredential.Inner: ExpressibleByArgument {}
