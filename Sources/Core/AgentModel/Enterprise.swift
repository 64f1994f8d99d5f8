#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Credential for a network with IEEE 802.1X: EAP-TLS, PEAP or EAP-TTLS. Certificates and keys are normalized PEM (RFC
/// 7468): only the blocks, in lines of 64 characters.
///
/// The server's certificate is always checked: against ``caCertificate``, or against the system's authorities and
/// ``serverName``.
public struct EnterpriseCredential: Sendable, Equatable {
    public let method: Method
    /// Inner method; nil for EAP-TLS.
    public let inner: Inner?
    /// Name of the user.
    public let identity: String
    /// Outer identity, sent in the clear; nil for ``identity``.
    public let anonymousIdentity: String?
    /// Password, for PEAP and EAP-TTLS only.
    public let password: Secret?
    /// The device's certificate, followed by the intermediate certificates. For EAP-TLS only.
    public let clientCertificate: String?
    /// Private key, for EAP-TLS only.
    public let privateKey: Secret?
    /// Trusted root certificate; nil for the system's authorities.
    public let caCertificate: String?
    /// Name in the server's certificate, or its domain suffix.
    public let serverName: String?

    public enum Method: String, Sendable, CaseIterable, Codable {
        /// EAP-TLS: certificates on both sides (RFC 5216).
        case tls
        /// PEAP: a password inside a TLS tunnel, as defined by Microsoft.
        case peap
        /// EAP-TTLS: a password inside a TLS tunnel (RFC 5281).
        case ttls
    }

    public enum Inner: String, Sendable, CaseIterable, Codable {
        /// Plain password, protected only by the tunnel.
        case pap
        /// Challenge and response (RFC 2759).
        case mschapv2
    }

    public enum Part: String, Sendable, CaseIterable {
        case inner, identity, anonymousIdentity, password, clientCertificate, privateKey, caCertificate, serverName
    }

    /// Length of an identity in bytes (RFC 7542, 2.2).
    public static let identityLength = 1...253
    public static let passwordLength = 1...128
    /// Length of a normalized PEM text in bytes. wpa_supplicant limits the length of a command with hexadecimal digits
    /// (hostap 2.10, `CTRL_IFACE_MAX_LEN`).
    public static let pemLength = 1...4000
    /// Length of the server name in bytes (RFC 1035, 2.3.4).
    public static let serverNameLength = 1...253
    /// Maximum length of ``encoded`` in bytes.
    package static let encodedLength =
        9 * 2 + 4 + 8 + 2 * identityLength.upperBound + passwordLength.upperBound + 3 * pemLength.upperBound
        + serverNameLength.upperBound

    /// - Parameters:
    ///   - inner: Inner method of PEAP or EAP-TTLS; nil for MSCHAPv2.
    ///   - clientCertificate: PEM text. Other text and blocks are ignored.
    ///   - privateKey: PEM of one unencrypted key. Other text and blocks are ignored.
    ///   - caCertificate: PEM of one certificate.
    ///   - usesSystemAuthorities: Must be true if `caCertificate` is nil, else false.
    public init(
        method: Method, inner: Inner? = nil, identity: String?, anonymousIdentity: String? = nil,
        password: Secret? = nil, clientCertificate: String? = nil, privateKey: Secret? = nil,
        caCertificate: String? = nil, usesSystemAuthorities: Bool = false, serverName: String? = nil
    ) throws(InvalidEnterprise) {
        self.method = method
        self.identity = try Self.name(identity, .identity)
        self.anonymousIdentity = try anonymousIdentity.map { name throws(InvalidEnterprise) in
            try Self.name(name, .anonymousIdentity)
        }
        if method == .tls {
            if inner != nil { throw .notOfMethod(.inner) }
            if password != nil { throw .notOfMethod(.password) }
            guard let clientCertificate else { throw .missing(.clientCertificate) }
            guard let privateKey else { throw .missing(.privateKey) }
            (self.inner, self.password) = (nil, nil)
            self.clientCertificate = try PEM.certificates(clientCertificate, .clientCertificate).text
            self.privateKey = try PEM.privateKey(privateKey)
        } else {
            if clientCertificate != nil { throw .notOfMethod(.clientCertificate) }
            if privateKey != nil { throw .notOfMethod(.privateKey) }
            if method == .peap, inner == .pap { throw .notOfMethod(.inner) }
            guard let password else { throw .missing(.password) }
            guard Self.passwordLength.contains(password.count) else {
                throw password.count == 0
                    ? .missing(.password)
                    : .tooLong(.password, bytes: password.count, maximum: Self.passwordLength.upperBound)
            }
            guard password.withBytes({ Passphrase.isText($0) }) else { throw .notText(.password) }
            (self.inner, self.password) = (inner ?? .mschapv2, password)
            (self.clientCertificate, self.privateKey) = (nil, nil)
        }
        if let caCertificate {
            guard !usesSystemAuthorities else { throw .twoAuthorities }
            let (text, count) = try PEM.certificates(caCertificate, .caCertificate)
            guard count == 1 else { throw .severalAuthorities(count) }
            self.caCertificate = text
        } else {
            guard usesSystemAuthorities else { throw .missing(.caCertificate) }
            // Without a name, any customer of a system authority could impersonate the server.
            guard serverName != nil else { throw .missing(.serverName) }
            self.caCertificate = nil
        }
        self.serverName = try serverName.map { name throws(InvalidEnterprise) in try Self.hostName(name) }
    }

    public var usesSystemAuthorities: Bool { caCertificate == nil }

    private static func name(_ name: String?, _ part: Part) throws(InvalidEnterprise) -> String {
        guard let name, !name.isEmpty else { throw .missing(part) }
        let count = name.utf8.count
        guard identityLength.contains(count) else {
            throw .tooLong(part, bytes: count, maximum: identityLength.upperBound)
        }
        guard name.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
            throw .notText(part)
        }
        return name
    }

    /// Accepts letters, digits, hyphens and dots. wpa_supplicant treats a semicolon as a separator of names.
    private static func hostName(_ name: String) throws(InvalidEnterprise) -> String {
        guard serverNameLength.contains(name.utf8.count),
            name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy({ label in
                (1...63).contains(label.count) && label.allSatisfy(Self.isOfHostName)
            })
        else { throw .noHostName }
        return name
    }

    private static func isOfHostName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}

/// Reason why a credential is invalid. Messages never contain a part of the credential.
public enum InvalidEnterprise: Error, Equatable, Sendable, CustomStringConvertible {
    case missing(EnterpriseCredential.Part)
    /// The method does not use this part.
    case notOfMethod(EnterpriseCredential.Part)
    case tooLong(EnterpriseCredential.Part, bytes: Int, maximum: Int)
    /// The text is not UTF-8, or has control characters.
    case notText(EnterpriseCredential.Part)
    /// The text has no PEM block, or a broken block.
    case notPEM(EnterpriseCredential.Part)
    case encryptedKey
    case severalKeys(Int)
    case severalAuthorities(Int)
    /// `caCertificate` was given together with the system's authorities.
    case twoAuthorities
    case noHostName

    public var part: EnterpriseCredential.Part {
        switch self {
        case .missing(let part), .notOfMethod(let part), .tooLong(let part, _, _), .notText(let part),
            .notPEM(let part):
            part
        case .encryptedKey, .severalKeys: .privateKey
        case .severalAuthorities, .twoAuthorities: .caCertificate
        case .noHostName: .serverName
        }
    }

    public var description: String {
        switch self {
        case .missing(.caCertificate):
            "an enterprise network needs a CA certificate: give one, or choose the system's authorities"
        case .missing(.serverName):
            "the system's authorities need a server name: give the name in the server's certificate"
        case .missing(let part): "this method needs \(part.words)"
        case .notOfMethod(let part): "this method does not use \(part.rawValue)"
        case .tooLong(let part, let bytes, let maximum):
            "\(part.words) is too long: at most \(maximum) bytes, not \(bytes)"
        case .notText(let part): "\(part.words) must be UTF-8 text without control characters"
        case .notPEM(.privateKey): "the private key is not PEM: give a block from BEGIN PRIVATE KEY to END PRIVATE KEY"
        case .notPEM(let part): "\(part.words) is not PEM: give blocks from BEGIN CERTIFICATE to END CERTIFICATE"
        case .encryptedKey:
            "the private key is encrypted: remove its passphrase (openssl pkey -in KEY), altnet encrypts what it stores"
        case .severalKeys(let count): "too many private keys: give one, not \(count)"
        case .severalAuthorities(let count):
            "too many CA certificates: give only the root's, not \(count)"
        case .twoAuthorities: "a CA certificate and the system's authorities exclude each other: choose one"
        case .noHostName: "the server's name must be one host or domain name, such as radius.example.com"
        }
    }
}

extension EnterpriseCredential.Part {
    fileprivate var words: String {
        switch self {
        case .inner: "the inner method"
        case .identity: "the identity"
        case .anonymousIdentity: "the anonymous identity"
        case .password: "the password"
        case .clientCertificate: "the client certificate"
        case .privateKey: "the private key"
        case .caCertificate: "the CA certificate"
        case .serverName: "the server's name"
        }
    }
}

// MARK: Encoding

extension EnterpriseCredential {
    /// Stable binary form for the key file and for hashes.
    ///
    /// Each field has its length (2 bytes, big-endian) and its bytes. A missing field has length 0. Order: method,
    /// inner method, identity, anonymous identity, password, client certificate, private key, CA certificate, server
    /// name.
    public var encoded: Secret {
        func bytes(_ text: String?) -> [UInt8] { Array((text ?? "").utf8) }
        let nothing = Secret([])
        let parts: [(plain: [UInt8], secret: Secret)] = [
            (bytes(method.rawValue), nothing), (bytes(inner?.rawValue), nothing), (bytes(identity), nothing),
            (bytes(anonymousIdentity), nothing), ([], password ?? nothing), (bytes(clientCertificate), nothing),
            ([], privateKey ?? nothing), (bytes(caCertificate), nothing), (bytes(serverName), nothing),
        ]
        let memory = ProtectedMemory(
            byteCount: parts.reduce(0) { $0 + 2 + $1.plain.count + $1.secret.count })
        var index = 0
        func append(_ byte: UInt8) {
            memory.bytes[index] = byte
            index += 1
        }
        for (plain, secret) in parts {
            // The limits of the parts are far below 65,536.
            let count = UInt16(clamping: plain.count + secret.count)
            append(UInt8(count >> 8))
            append(UInt8(count & 0xff))
            plain.forEach(append)
            secret.withBytes { $0.forEach(append) }
        }
        return Secret(UnsafeRawBufferPointer(memory.bytes))
    }

    /// - Returns: nil unless `bytes` is the ``encoded`` form of a valid credential.
    public init?(encoded bytes: UnsafeRawBufferPointer) {
        var rest = bytes[...]
        func next() -> UnsafeRawBufferPointer? {
            guard rest.count >= 2 else { return nil }
            let count = Int(rest[rest.startIndex]) << 8 | Int(rest[rest.startIndex + 1])
            rest = rest.dropFirst(2)
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return UnsafeRawBufferPointer(rebasing: rest.prefix(count))
        }
        var parts: [UnsafeRawBufferPointer] = []
        for _ in 0..<9 {
            guard let part = next() else { return nil }
            parts.append(part)
        }
        func text(_ index: Int) -> String? {
            parts[index].isEmpty ? nil : String(validating: parts[index], as: UTF8.self)
        }
        func secret(_ index: Int) -> Secret? { parts[index].isEmpty ? nil : Secret(parts[index]) }
        guard rest.isEmpty, let method = text(0).flatMap({ Method(rawValue: $0) }),
            let credential = try? EnterpriseCredential(
                method: method, inner: text(1).flatMap { Inner(rawValue: $0) }, identity: text(2),
                anonymousIdentity: text(3), password: secret(4), clientCertificate: text(5), privateKey: secret(6),
                caCertificate: text(7), usesSystemAuthorities: parts[7].isEmpty, serverName: text(8)),
            credential.encoded == Secret(bytes)
        else { return nil }
        self = credential
    }
}

// MARK: PEM

/// Extracts PEM blocks (RFC 7468) from text.
private enum PEM {
    static func certificates(
        _ text: String, _ part: EnterpriseCredential.Part
    ) throws(InvalidEnterprise) -> (text: String, count: Int) {
        var certificates = ""
        var count = 0
        let bytes = Array(text.utf8)
        for block in try blocks(of: bytes, part) where block.label == "CERTIFICATE" {
            let content = bytes[block.content].filter { !isBlank($0) }
            guard let data = Data(base64Encoded: Data(content)), isWhole(data) else { throw .notPEM(part) }
            certificates += String(decoding: form(block.label, content), as: UTF8.self)
            count += 1
        }
        guard count > 0 else { throw .notPEM(part) }
        try check(certificates.utf8.count, part)
        return (certificates, count)
    }

    static func privateKey(_ text: Secret) throws(InvalidEnterprise) -> Secret {
        try text.withBytes { text throws(InvalidEnterprise) in
            let bytes = Array(text)
            defer { erase(bytes) }
            var keys: [Secret] = []
            for block in try blocks(of: bytes, .privateKey) where block.label.hasSuffix("PRIVATE KEY") {
                let content = bytes[block.content].filter { !isBlank($0) }
                defer { erase(content) }
                // Encrypted keys have their own label, or headers with a colon (RFC 1421, 4.6).
                if block.label == "ENCRYPTED PRIVATE KEY" || content.contains(UInt8(ascii: ":")) {
                    throw .encryptedKey
                }
                guard labels.contains(block.label), isBase64(content) else { throw .notPEM(.privateKey) }
                let key = form(block.label, content)
                defer { erase(key) }
                keys.append(Secret(key))
            }
            guard let key = keys.first else { throw .notPEM(.privateKey) }
            guard keys.count == 1 else { throw .severalKeys(keys.count) }
            try check(key.count, .privateKey)
            return key
        }
    }

    private static let labels: Set<String> = ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY"]

    private static func check(_ count: Int, _ part: EnterpriseCredential.Part) throws(InvalidEnterprise) {
        let maximum = EnterpriseCredential.pemLength.upperBound
        guard count <= maximum else { throw .tooLong(part, bytes: count, maximum: maximum) }
    }

    /// - Throws: `notPEM` for a block without its matching end.
    private static func blocks(
        of bytes: [UInt8], _ part: EnterpriseCredential.Part
    ) throws(InvalidEnterprise) -> [(label: String, content: Range<Int>)] {
        var blocks: [(String, Range<Int>)] = []
        var open: (label: String, start: Int)?
        var start = 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
            if let label = label(bytes[start..<end], "BEGIN") {
                guard open == nil else { throw .notPEM(part) }
                open = (label, min(end + 1, bytes.count))
            } else if let label = label(bytes[start..<end], "END") {
                guard let block = open, block.label == label else { throw .notPEM(part) }
                blocks.append((label, block.start..<start))
                open = nil
            }
            start = end + 1
        }
        guard open == nil else { throw .notPEM(part) }
        return blocks
    }

    private static func label(_ line: ArraySlice<UInt8>, _ word: String) -> String? {
        // Labels are short. Longer lines may be key material, which must not become a `String`.
        guard line.count <= 64, line.starts(with: "-----\(word) ".utf8) else { return nil }
        let text = line.prefix { $0 != UInt8(ascii: "\r") }.reversed().drop(while: isBlank).reversed()
        guard text.suffix(5).elementsEqual("-----".utf8) else { return nil }
        return String(decoding: text.dropFirst(word.utf8.count + 6).dropLast(5), as: UTF8.self)
    }

    private static func form(_ label: String, _ content: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        // Reserve all space first: growing would leave copies of the key in memory.
        text.reserveCapacity(content.count + content.count / 64 + 2 * label.utf8.count + 64)
        text += "-----BEGIN \(label)-----\n".utf8
        for start in stride(from: 0, to: content.count, by: 64) {
            text += content[start..<min(start + 64, content.count)]
            text.append(UInt8(ascii: "\n"))
        }
        text += "-----END \(label)-----\n".utf8
        return text
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\r")
            || byte == UInt8(ascii: "\n")
    }

    private static func isBase64(_ bytes: [UInt8]) -> Bool {
        let padding = bytes.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        return !bytes.isEmpty && bytes.count.isMultiple(of: 4) && padding <= 2
            && bytes.dropLast(padding).allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
                    true
                default: false
                }
            }
    }

    /// Whether the data is exactly one DER sequence (X.690, 8.1).
    private static func isWhole(_ der: Data) -> Bool {
        let bytes = Array(der)
        guard bytes.count > 4, bytes[0] == 0x30 else { return false }
        switch bytes[1] {
        case 0..<0x80: return Int(bytes[1]) == bytes.count - 2
        case 0x81: return Int(bytes[2]) == bytes.count - 3
        case 0x82: return Int(bytes[2]) << 8 | Int(bytes[3]) == bytes.count - 4
        default: return false
        }
    }

    private static func erase(_ bytes: [UInt8]) {
        // The array has no other owner, so this pointer refers to its storage.
        bytes.withUnsafeBytes { wipe(UnsafeMutableRawBufferPointer(mutating: $0)) }
    }
}
