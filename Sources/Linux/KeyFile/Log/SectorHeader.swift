import AgentModel
import Crypto
import FoundationEssentials

/// Header of a used sector (Docs/reference/key-file-format.md).
struct SectorHeader: Equatable {
    /// Format version of the sector's records, in `readableVersions`.
    let version: UInt16
    let geometry: Geometry
    /// Number of the sector, from 0.
    let index: Int
    /// Number of erasures of the sector, including the last.
    let eraseCount: UInt32
    /// Sequence number, one higher for each begun sector.
    let sequence: UInt64
    /// Random salt of the sector's keys, unique even after an older image is restored.
    let salt: [UInt8]
    /// Check value that identifies the root key.
    let keyCheck: UInt64
    /// Time when the sector was begun, in seconds since 1970 by the device's clock.
    let begun: UInt32

    static let size = 64
    static let saltSize = 16
    static let version: UInt16 = 3
    /// Versions that can be read. In version 2, a snapshot has only one record.
    static let readableVersions: ClosedRange<UInt16> = 2...version
    /// Size of the start that all versions share, in bytes: magic, version, reserved bytes, checksum.
    static let prologueSize = 16
    private static let magic = Array("ALTNETKF".utf8)
    private static let checksumSize = 4

    enum Reading {
        case blank
        /// The header is valid. `isRepaired` is true if one wrong bit was corrected.
        case header(SectorHeader, isRepaired: Bool)
        case otherVersion(UInt16)
        case unreadable
    }

    static func read(_ bytes: UnsafeMutableRawBufferPointer) -> Reading {
        if UnsafeRawBufferPointer(bytes).isBlank { return .blank }
        let prologue = UnsafeMutableRawBufferPointer(rebasing: bytes[..<prologueSize])
        guard let first = checkChecksum(prologue) else { return .unreadable }
        var reader = ByteReader(UnsafeRawBufferPointer(prologue))
        guard let found = reader.bytes(magic.count), found.elementsEqual(magic),
            let version = reader.integer(UInt16.self), version > 0, let reserved = reader.integer(UInt16.self)
        else { return .unreadable }
        guard readableVersions.contains(version) else { return .otherVersion(version) }
        let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[prologueSize..<size])
        guard reserved == 0, let second = checkChecksum(rest),
            let header = SectorHeader(UnsafeRawBufferPointer(rest), version: version)
        else { return .unreadable }
        return .header(header, isRepaired: first == .repaired || second == .repaired)
    }

    private enum Check { case right, repaired }

    /// Verifies the checksum at the end of `bytes`, and corrects a single wrong bit.
    private static func checkChecksum(_ bytes: UnsafeMutableRawBufferPointer) -> Check? {
        let checked = UnsafeMutableRawBufferPointer(rebasing: bytes[..<(bytes.count - checksumSize)])
        let checksum = UnsafeRawBufferPointer(rebasing: bytes[checked.count...]).bigEndian(UInt32.self)
        if CRC32.checksum(UnsafeRawBufferPointer(checked)) == checksum { return .right }
        return CRC32.repairBit(of: checked, checksum: checksum) ? .repaired : nil
    }

    /// - Parameter bytes: bytes after the prologue.
    private init?(_ bytes: UnsafeRawBufferPointer, version: UInt16) {
        var reader = ByteReader(bytes)
        guard let sizeExponent = reader.integer(UInt8.self), sizeExponent < 32,
            let unitExponent = reader.integer(UInt8.self), unitExponent < 32,
            let count = reader.integer(UInt8.self),
            let geometry = Geometry(
                sectorSize: 1 << Int(sizeExponent), sectorCount: Int(count), writeUnit: 1 << Int(unitExponent)),
            let index = reader.integer(UInt8.self), index < count,
            let eraseCount = reader.integer(UInt32.self), let sequence = reader.integer(UInt64.self),
            let salt = reader.bytes(Self.saltSize), let keyCheck = reader.integer(UInt64.self),
            let begun = reader.integer(UInt32.self)
        else { return nil }
        self.init(
            version: version, geometry: geometry, index: Int(index), eraseCount: eraseCount, sequence: sequence,
            salt: Array(salt), keyCheck: keyCheck, begun: begun)
    }

    init(
        version: UInt16 = version, geometry: Geometry, index: Int, eraseCount: UInt32, sequence: UInt64, salt: [UInt8],
        keyCheck: UInt64, begun: UInt32
    ) {
        self.version = version
        self.geometry = geometry
        self.index = index
        self.eraseCount = eraseCount
        self.sequence = sequence
        self.salt = salt
        self.keyCheck = keyCheck
        self.begun = begun
    }

    /// Values that bind a record to its sector.
    struct Mark {
        /// Checksum of the header, unique because of its salt.
        let checksum: UInt32
        /// True if a snapshot can have several records.
        let allowsParts: Bool
    }

    var mark: Mark {
        let checksum = bytes.withUnsafeBytes { UnsafeRawBufferPointer(rebasing: $0.suffix(4)).bigEndian(UInt32.self) }
        return Mark(checksum: checksum, allowsParts: version > 2)
    }

    /// Returns the first bytes of all headers of a version.
    static func prologue(of version: UInt16) -> [UInt8] {
        var bytes = WipedBuffer(capacity: prologueSize)
        bytes.append(magic)
        bytes.append(bigEndian: version)
        bytes.append(bigEndian: UInt16(0))
        bytes.append(bigEndian: bytes.withBytes { CRC32.checksum($0) })
        return bytes.withBytes { Array($0) }
    }

    var bytes: [UInt8] {
        var bytes = WipedBuffer(capacity: Self.size)
        bytes.append(Self.prologue(of: version))
        bytes.append(UInt8(geometry.sectorSize.trailingZeroBitCount))
        bytes.append(UInt8(geometry.writeUnit.trailingZeroBitCount))
        bytes.append(UInt8(geometry.sectorCount))
        bytes.append(UInt8(index))
        bytes.append(bigEndian: eraseCount)
        bytes.append(bigEndian: sequence)
        bytes.append(salt)
        bytes.append(bigEndian: keyCheck)
        bytes.append(bigEndian: begun)
        bytes.append(
            bigEndian: bytes.withBytes { CRC32.checksum(UnsafeRawBufferPointer(rebasing: $0[Self.prologueSize...])) })
        return bytes.withBytes { Array($0) }
    }
}

/// Keys of one sector, derived from root key and salt (HKDF-SHA-256, RFC 5869).
struct SectorKeys {
    private let record: SymmetricKey
    private let nonce: SymmetricKey
    /// Check value for the sector's header.
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

    /// Additional authenticated data of a record. Binds the record to its place.
    struct Context {
        let sector: SectorHeader
        /// Offset of the record in the sector, in bytes.
        let offset: Int
        let header: Record.Header
        /// Tag of the preceding record; zeros for the first record of a snapshot.
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

    /// Encrypts a body (AES-256-GCM). The nonce is a keyed hash of random bytes and all encrypted and authenticated
    /// data. Even with repeated random bytes (cloned machine, no entropy), different records get different nonces.
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

    /// - Returns: nil if the data is not authentic.
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

/// Key that authenticates an anchor. It changes only with the root key.
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
