import AgentModel
import AppProtocol
import AppServer
import KeyFile

/// Files of the device's identity in the state directory: `device-id` and `local-key`, one line each, and
/// `certificate`.
///
/// Two files cannot be replaced atomically. A new identity is therefore first written to `identity.next`. From then on
/// it is valid, and after a power cut the next run finishes the change.
package struct IdentityFolder {
    private let files: any FileOperations

    static let id = "device-id"
    static let key = "local-key"
    static let next = "identity.next"
    static let certificate = "certificate"

    package init(_ files: any FileOperations) { self.files = files }

    /// - Throws: `missing` if the identity is missing or incomplete.
    package func read() throws(IdentityError) -> DeviceIdentity {
        if let next = try nextIdentity() { return next }
        let id = try line(of: Self.id)
        let key = try line(of: Self.key)
        do {
            return DeviceIdentity(
                key: try DeviceKey(deviceId: id.withBytes { String(decoding: $0, as: UTF8.self) }, localKey: key),
                certificate: try certificate())
        } catch let error as ProtocolError {
            throw IdentityError(path: files.path, .invalid(error.message))
        } catch {
            throw IdentityError(path: files.path, .invalid("\(error)"))
        }
    }

    /// Reads the certificate; nil if it is missing or unreadable.
    private func certificate() throws(IdentityError) -> DeviceCertificate? {
        try attempt { () throws(KeyFileError) in
            try files.readSmall(Self.certificate, maximum: DeviceCertificate.maximumLength)
        }.flatMap { try? DeviceCertificate(pem: $0) }
    }

    /// True if no part of an identity exists. A part counts as an identity, because the rest may exist elsewhere.
    package var isEmpty: Bool {
        get throws(IdentityError) {
            guard try nextIdentity() == nil else { return false }
            return try attempt { () throws(KeyFileError) in
                for name in [Self.id, Self.key] where try files.holds(name) { return false }
                return true
            }
        }
    }

    /// Finishes an interrupted change, and creates missing parts with random values.
    package func complete() throws(IdentityError) {
        if let next = try nextIdentity() { try finish(next) }
        try attempt { () throws(KeyFileError) in
            try files.destroy(Self.next)
            for (name, byteCount) in [(Self.id, 8), (Self.key, 32)] where try !files.holds(name) {
                try write(Secret(text: DeviceIdentity.randomDigits(byteCount) + "\n"), to: name)
            }
        }
        guard try certificate() == nil else { return }
        let made: DeviceCertificate
        do { made = try .random() } catch { throw IdentityError(path: files.path, .invalid("\(error)")) }
        try attempt { () throws(KeyFileError) in try write(made.pem, to: Self.certificate) }
    }

    /// Installs the identity atomically.
    /// - Parameter replacing: true to replace an existing identity.
    /// - Throws: `alreadyThere` if there is an identity or a part of one, which stays unchanged.
    package func install(_ identity: DeviceIdentity, replacing: Bool = false) throws(IdentityError) {
        guard identity.localKey.withBytes({ !$0.contains(UInt8(ascii: "\n")) }) else {
            throw IdentityError(path: files.path, .invalid("a local key cannot have a line feed"))
        }
        if !replacing {
            guard try isEmpty else { throw IdentityError(path: files.path, .alreadyThere) }
        }
        try attempt { () throws(KeyFileError) in
            try write(Secret(text: PairingCode(identity.key).uri() + "\n"), to: Self.next)
        }
        try finish(identity)
    }

    private func finish(_ identity: DeviceIdentity) throws(IdentityError) {
        try attempt { () throws(KeyFileError) in
            // The process that wrote the file may have been killed before the file's name was durable.
            try files.synchroniseDirectory()
            // These files belong to the former identity.
            for name in [Self.certificate, AppKeyFile.name] {
                for name in [name, name + ".new"] { try files.destroy(name) }
            }
            try write(Secret(text: identity.id + "\n"), to: Self.id)
            try write(identity.localKey.withBytes { Secret(Array($0) + [UInt8(ascii: "\n")]) }, to: Self.key)
            try files.destroy(Self.next)
            try files.synchroniseDirectory()
        }
    }

    /// Reads the next identity; nil if there is none or it is unreadable. The file is written atomically, so an
    /// unreadable one was already installed and half destroyed.
    private func nextIdentity() throws(IdentityError) -> DeviceIdentity? {
        guard let code = try firstLine(of: Self.next) else { return nil }
        let pairing = code.withBytes { try? PairingCode(reading: $0) }
        return pairing.map { DeviceIdentity(key: $0.device) }
    }

    private func line(of name: String) throws(IdentityError) -> Secret {
        guard let line = try firstLine(of: name) else { throw IdentityError(path: "\(files.path)/\(name)", .missing) }
        return line
    }

    private func firstLine(of name: String) throws(IdentityError) -> Secret? {
        try attempt { () throws(KeyFileError) in
            try files.readSmall(name, maximum: PairingCode.maximumLength)?.withBytes { content in
                Secret(content.prefix { $0 != UInt8(ascii: "\n") })
            }
        }
    }

    private func write(_ line: Secret, to name: String) throws(KeyFileError) {
        try line.withBytes { bytes throws(KeyFileError) in try files.replace(name, with: bytes) }
    }

    private func attempt<Value>(_ body: () throws(KeyFileError) -> Value) throws(IdentityError) -> Value {
        do { return try body() } catch { throw IdentityError(error, in: files.path) }
    }
}
