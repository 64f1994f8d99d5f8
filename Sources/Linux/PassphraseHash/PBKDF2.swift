import Crypto

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Bytes for a key from a passphrase: PBKDF2 with HMAC (RFC 8018, clause 5.2).
///
/// It is here, and so is ``Scrypt``, because the package that has both brings a megabyte of what altnet has no use for.
package enum PBKDF2<Hash: HashFunction> {
    /// Fills `key`.
    /// - Parameter rounds: at least 1.
    package static func derive(
        _ key: UnsafeMutableRawBufferPointer, from passphrase: UnsafeRawBufferPointer, salt: UnsafeRawBufferPointer,
        rounds: Int
    ) {
        let keyed = HMAC<Hash>(key: SymmetricKey(data: passphrase))
        var done = 0
        var block: UInt32 = 0
        while done < key.count {
            block += 1
            var code = keyed
            code.update(data: salt)
            withUnsafeBytes(of: block.bigEndian) { code.update(data: $0) }
            var last = code.finalize()
            let target = UnsafeMutableRawBufferPointer(
                rebasing: key[done..<min(done + Hash.Digest.byteCount, key.count)])
            last.withUnsafeBytes { target.copyBytes(from: $0.prefix(target.count)) }
            for _ in 1..<max(rounds, 1) {
                var code = keyed
                last.withUnsafeBytes { code.update(data: $0) }
                last = code.finalize()
                last.withUnsafeBytes { bytes in for index in target.indices { target[index] ^= bytes[index] } }
            }
            done += target.count
        }
    }
}
