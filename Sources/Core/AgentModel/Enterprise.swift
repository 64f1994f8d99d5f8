#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The credential for a network with IEEE 802.1X: WPA2-Enterprise by EAP-TLS, PEAP or EAP-TTLS.
///
/// The server has to show a certificate by ``caCertificate``, or by one of the system's authorities for
/// ``serverName``. There is no value that leaves this out. Certificates and keys are PEM (RFC 7468) in one form: the
/// blocks alone, in lines of 64 characters.
public struct EnterpriseCredential: Sendable, Equatable {
    public let method: Method
    /// The method inside of the tunnel; nil for EAP-TLS, which has none.
    public let inner: Inner?
    /// The user's name, as the server knows it.
    public let identity: String
    /// The name that is sent before the tunnel is there, where all can read it; nil for ``identity``.
    public let anonymousIdentity: String?
    /// Of PEAP and EAP-TTLS.
    public let password: Secret?
    /// Of EAP-TLS: the device's certificate, and those between it and its authority behind it.
    public let clientCertificate: String?
    /// Of EAP-TLS.
    public let privateKey: Secret?
    /// The one authority whose certificates the server may have; nil for those of the system.
    public let caCertificate: String?
    /// The name in the server's certificate, or what it ends in after a dot.
    public let serverName: String?

    public enum Method: String, Sendable, CaseIterable, Codable {
        /// A certificate on both sides (RFC 5216).
        case tls
        /// A password inside of a TLS tunnel, as Microsoft has it.
        case peap
        /// A password inside of a TLS tunnel (RFC 5281).
        case ttls
    }

    public enum Inner: String, Sendable, CaseIterable, Codable {
        /// The password as it is. The tunnel alone protects it.
        case pap
        /// A proof of the password (RFC 2759).
        case mschapv2
    }

    /// The parts of a credential, by their names in the protocol.
    public enum Part: String, Sendable, CaseIterable {
        case inner, identity, anonymousIdentity, password, clientCertificate, privateKey, caCertificate, serverName
    }

    /// Bytes of a name of the user (RFC 7542, 2.2).
    public static let identityLength = 1...253
    /// Bytes of a password.
    public static let passwordLength = 1...128
    /// Bytes of PEM text in its one form, for certificates and for a key: wpa_supplicant takes no more in one command
    /// (hostap 2.10, `CTRL_IFACE_MAX_LEN`, in hexadecimal digits).
    public static let pemLength = 1...4000
    /// Bytes of the server's name (RFC 1035, 2.3.4).
    public static let serverNameLength = 1...253
    /// The most that ``encoded`` has.
    package static let encodedLength =
        9 * 2 + 4 + 8 + 2 * identityLength.upperBound + passwordLength.upperBound + 3 * pemLength.upperBound
        + serverNameLength.upperBound

    /// - Parameters:
    ///   - inner: MSCHAPv2 unless something else is said.
    ///   - clientCertificate: PEM; text outside of its blocks, and blocks that are no certificates, are left out.
    ///   - privateKey: PEM of a key without a passphrase, for which the same is true.
    ///   - caCertificate: PEM of one certificate.
    ///   - usesSystemAuthorities: the authorities of the device's system count, in place of `caCertificate`.
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
            // Any customer of any of these authorities could pass for the server.
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

    /// Letters, digits, hyphens and dots: wpa_supplicant takes a semicolon for the beginning of another name.
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

/// Why something is no credential for an enterprise network. No message repeats any of it.
public enum InvalidEnterprise: Error, Equatable, Sendable, CustomStringConvertible {
    case missing(EnterpriseCredential.Part)
    /// The method has no use for it.
    case notOfMethod(EnterpriseCredential.Part)
    case tooLong(EnterpriseCredential.Part, bytes: Int, maximum: Int)
    /// It is no UTF-8, or has control characters.
    case notText(EnterpriseCredential.Part)
    /// It has no block of PEM, or one that is broken.
    case notPEM(EnterpriseCredential.Part)
    case encryptedKey
    case severalKeys(Int)
    case severalAuthorities(Int)
    /// A certificate of an authority, and the system's as well.
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
            "an enterprise network needs the certificate of its authority, or the word that the system's authorities count"
        case .missing(.serverName): "with the system's authorities, the name in the server's certificate is needed"
        case .missing(let part): "an enterprise network with this method needs \(part.words)"
        case .notOfMethod(let part): "this method takes no \(part.rawValue)"
        case .tooLong(let part, let bytes, let maximum):
            "\(part.words) has \(maximum) bytes at most, this one has \(bytes)"
        case .notText(let part): "\(part.words) is UTF-8 text without control characters"
        case .notPEM(.privateKey): "the private key is no PEM: a block from BEGIN PRIVATE KEY to END PRIVATE KEY"
        case .notPEM(let part): "\(part.words) is no PEM: blocks from BEGIN CERTIFICATE to END CERTIFICATE"
        case .encryptedKey:
            "the private key is encrypted: take its passphrase off (openssl pkey -in KEY), altnet stores it encrypted itself"
        case .severalKeys(let count): "one private key is needed, these are \(count)"
        case .severalAuthorities(let count):
            "the certificate of one authority is needed, that of the root, and these are \(count)"
        case .twoAuthorities: "a certificate of an authority and the system's authorities exclude each other"
        case .noHostName: "the server's name is one name of a host or a domain, such as radius.example.com"
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
        case .caCertificate: "the authority's certificate"
        case .serverName: "the server's name"
        }
    }
}

// MARK: One form in bytes

extension EnterpriseCredential {
    /// Stands for it in the key file and in hashes, so it stays: for method, inner method, identity, anonymous
    /// identity, password, client certificate, private key, authority's certificate and server's name the number of
    /// bytes (2, big-endian) and the bytes, none for what is not there.
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
            // Bounded far below by the limits of each part.
            let count = UInt16(clamping: plain.count + secret.count)
            append(UInt8(count >> 8))
            append(UInt8(count & 0xff))
            plain.forEach(append)
            secret.withBytes { $0.forEach(append) }
        }
        return Secret(UnsafeRawBufferPointer(memory.bytes))
    }

    /// - Returns: nil unless these are the bytes by which a credential is encoded.
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

/// Blocks of PEM (RFC 7468), from any text around them.
private enum PEM {
    /// - Returns: the certificates in their one form, and how many there are.
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
                // Both forms of encryption: a label of its own, and headers (RFC 1421, 4.6), which have a colon.
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

    /// Line by line. A block that has no end, or another's, is broken.
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
        // No label is long, and a line of a key is not to be kept as text.
        guard line.count <= 64, line.starts(with: "-----\(word) ".utf8) else { return nil }
        let text = line.prefix { $0 != UInt8(ascii: "\r") }.reversed().drop(while: isBlank).reversed()
        guard text.suffix(5).elementsEqual("-----".utf8) else { return nil }
        return String(decoding: text.dropFirst(word.utf8.count + 6).dropLast(5), as: UTF8.self)
    }

    private static func form(_ label: String, _ content: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        // All at once, so that no copy of a part is left behind.
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

    /// Whether it is one sequence of DER (X.690, 8.1) and nothing behind it.
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
        // Held by nothing else, so this is the memory itself.
        bytes.withUnsafeBytes { wipe(UnsafeMutableRawBufferPointer(mutating: $0)) }
    }
}
