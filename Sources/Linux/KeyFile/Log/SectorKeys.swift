import AgentModel
import Crypto

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The keys of one sector, derived from the root key and the sector's salt (HKDF-SHA-256, RFC 5869).
struct SectorKeys {
    private let record: SymmetricKey
    private let nonce: SymmetricKey
    /// What the sector's header shows of the root key.
    let check: UInt64

    init(root: Secret, salt: [UInt8]) {
        let root = SymmetricKey(root)
        record = Self.derive(from: root, salt, "altnet key file 2: records", bytes: 32)
        nonce = Self.derive(from: root, salt, "altnet key file 2: nonces", bytes: 32)
        check = Self.derive(from: root, salt, "altnet key file 2: check", bytes: 8)
            .withUnsafeBytes { $0.bigEndian(UInt64.self) }
    }

    private static func derive(from root: SymmetricKey, _ salt: [UInt8], _ info: String, bytes: Int) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: root, salt: salt, info: Array(info.utf8), outputByteCount: bytes)
    }

    /// What a record's authentication covers beside its body: so no record can stand in another's place.
    struct Context {
        let sector: SectorHeader
        /// Where in the sector the record begins.
        let offset: Int
        let header: Record.Header
        /// The tag of the record before, or zeros for a snapshot.
        let previousTag: [UInt8]

        fileprivate var bytes: [UInt8] {
            sector.bytes + header.bytes(in: sector.mark)
                + withUnsafeBytes(of: UInt32(offset).bigEndian) { Array($0) } + previousTag
        }
    }

    struct Sealed {
        let nonce: [UInt8]
        let ciphertext: Data
        let tag: [UInt8]
    }

    /// Encrypts a body (AES-256-GCM).
    ///
    /// The nonce is a keyed hash of fresh randomness **and** of everything that is encrypted and authenticated: should the
    /// randomness ever repeat, in a cloned machine or on a board without entropy, two different records still have two
    /// nonces.
    func seal(
        _ body: UnsafeRawBufferPointer, _ context: Context, random: [UInt8]
    ) throws(KeyFileError) -> Sealed {
        let context = context.bytes
        var hash = HMAC<SHA256>(key: self.nonce)
        hash.update(data: random)
        hash.update(data: context)
        hash.update(data: body)
        let nonce = Array(hash.finalize().prefix(Record.nonceSize))
        do {
            let box = try AES.GCM.seal(
                body, using: record, nonce: AES.GCM.Nonce(data: nonce), authenticating: context)
            return Sealed(nonce: nonce, ciphertext: box.ciphertext, tag: Array(box.tag))
        } catch { throw .encryptionFailed }
    }

    /// - Returns: nil if this is not what was encrypted.
    func open(
        nonce: UnsafeRawBufferPointer, ciphertext: UnsafeRawBufferPointer, tag: UnsafeRawBufferPointer,
        _ context: Context
    ) -> WipedBuffer? {
        do {
            let box = try AES.GCM.SealedBox(nonce: AES.GCM.Nonce(data: nonce), ciphertext: ciphertext, tag: tag)
            var plain = try AES.GCM.open(box, using: record, authenticating: context.bytes)
            var body = WipedBuffer(capacity: plain.count)
            plain.withUnsafeMutableBytes { bytes in
                body.append(UnsafeRawBufferPointer(bytes))
                wipe(bytes)
            }
            return body
        } catch { return nil }
    }
}

/// The key under which an anchor is authenticated: it changes with the root key and with nothing else.
package struct AnchorKey {
    let key: SymmetricKey

    package init(root: Secret) {
        key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(root), info: Array("altnet key file 2: anchor".utf8), outputByteCount: 32)
    }
}

extension SymmetricKey {
    init(_ secret: Secret) { self = secret.withBytes { SymmetricKey(data: $0) } }
}
