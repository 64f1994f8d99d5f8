import AgentModel
import Crypto
import CryptoExtras
import FoundationEssentials

/// An exported state, encrypted with a passphrase: scrypt (RFC 7914) and AES-256-GCM
/// (Docs/reference/key-file-format.md).
package enum SealedExport {
    /// Minimum length of a passphrase in bytes. A passphrase can be guessed offline, so a shorter one does not protect.
    package static let shortestPassphrase = 8
    /// Maximum size of an export in bytes.
    package static let maximumSize = headerSize + CellChanges.maximumSize + Record.tagSize + checksumSize

    static let headerSize = 48
    static let checksumSize = 4
    private static let version: UInt16 = 1
    private static let magic = Array("ALTNETSX".utf8)
    private static let saltSize = 16

    /// Cost of deriving the key from the passphrase.
    struct Cost {
        /// Binary logarithm of scrypt's N. 15 takes 32 MiB, and some tenths of a second on a board.
        let exponent: UInt8
        static let blockSize: UInt8 = 8
        static let parallelism: UInt8 = 1
        static let standard = Cost(exponent: 15)

        /// Checks untrusted parameters. Refuses a cost above 64 MiB, and one that protects too weakly.
        init?(exponent: UInt8, blockSize: UInt8, parallelism: UInt8) {
            guard (14...16).contains(exponent), blockSize == Self.blockSize, parallelism == Self.parallelism else {
                return nil
            }
            self.init(exponent: exponent)
        }

        private init(exponent: UInt8) { self.exponent = exponent }
    }

    /// - Throws: `passphraseTooShort`, among others.
    package static func seal(_ state: StoredState, under passphrase: Secret) throws(ExportError) -> [UInt8] {
        let salt = (0..<saltSize).map { _ in UInt8.random(in: 0...255) }
        let nonce = (0..<Record.nonceSize).map { _ in UInt8.random(in: 0...255) }
        let cells = state.cells(keepingSlotsOf: [:])
        var body = WipedBuffer(capacity: min(CellChanges.size(of: cells), CellChanges.maximumSize))
        do {
            try CellChanges.encode(CellChanges.between([:], cells), into: &body)
        } catch { throw .impossibleContent }
        let header = header(.standard, salt: salt, nonce: nonce, bodySize: body.count)
        let key = try key(from: passphrase, salt: salt, .standard)
        do {
            let box = try body.withBytes { bytes in
                try AES.GCM.seal(bytes, using: key, nonce: AES.GCM.Nonce(data: nonce), authenticating: header)
            }
            var file = header + box.ciphertext + box.tag
            let checksum = file.withUnsafeBytes { CRC32.checksum($0) }
            withUnsafeBytes(of: checksum.bigEndian) { file.append(contentsOf: $0) }
            return file
        } catch { throw .encryptionFailed }
    }

    package static func open(_ file: [UInt8], with passphrase: Secret) throws(ExportError) -> StoredState {
        try open(file) { salt, cost throws(ExportError) in try key(from: passphrase, salt: salt, cost) }
    }

    /// - Parameter makeKey: derives the key; called after the checksum is verified.
    static func open(
        _ file: [UInt8], makeKey: (_ salt: [UInt8], Cost) throws(ExportError) -> SymmetricKey
    ) throws(ExportError) -> StoredState {
        let parts = try Parts(file)
        let key = try makeKey(parts.salt, parts.cost)
        var plain: Data
        do {
            let box = try AES.GCM.SealedBox(
                nonce: AES.GCM.Nonce(data: parts.nonce), ciphertext: parts.ciphertext, tag: parts.tag)
            plain = try AES.GCM.open(box, using: key, authenticating: parts.header)
        } catch { throw .wrongPassphrase }
        var cells: Cells = [:]
        let isCells = plain.withUnsafeMutableBytes { bytes in
            defer { wipe(bytes) }
            return CellChanges.apply(UnsafeRawBufferPointer(bytes), to: &cells)
        }
        guard isCells, let state = StoredState(cells: cells) else { throw .impossibleContent }
        return state
    }

    /// Fields of an export with a valid checksum.
    private struct Parts {
        let header: [UInt8]
        let cost: Cost
        let salt: [UInt8]
        let nonce: [UInt8]
        let ciphertext: [UInt8]
        let tag: [UInt8]

        init(_ file: [UInt8]) throws(ExportError) {
            guard file.starts(with: magic) else { throw .notAnExport }
            guard (headerSize + Record.tagSize + checksumSize...maximumSize).contains(file.count) else {
                throw .damaged
            }
            let checksum = file.dropLast(checksumSize).withUnsafeBytes { CRC32.checksum($0) }
            guard file.suffix(checksumSize).elementsEqual(withUnsafeBytes(of: checksum.bigEndian, Array.init)) else {
                throw .damaged
            }
            let version = UInt16(file[8]) << 8 | UInt16(file[9])
            guard version == SealedExport.version else { throw .otherVersion(version) }
            guard let cost = Cost(exponent: file[10], blockSize: file[11], parallelism: file[12]) else {
                throw .unacceptableCost
            }
            header = Array(file[..<headerSize])
            self.cost = cost
            salt = Array(file[16..<32])
            nonce = Array(file[32..<44])
            let body = file[headerSize...].dropLast(Record.tagSize + checksumSize)
            guard file[13] == 0, file[14..<16].elementsEqual([0, 0]),
                body.count == file[44..<48].reduce(0, { $0 << 8 | Int($1) })
            else { throw .damaged }
            ciphertext = Array(body)
            tag = Array(file[body.endIndex...].prefix(Record.tagSize))
        }
    }

    private static func header(_ cost: Cost, salt: [UInt8], nonce: [UInt8], bodySize: Int) -> [UInt8] {
        magic + [UInt8(version >> 8), UInt8(version & 0xff), cost.exponent, Cost.blockSize, Cost.parallelism, 0, 0, 0]
            + salt + nonce + withUnsafeBytes(of: UInt32(bodySize).bigEndian) { Array($0) }
    }

    static func key(from passphrase: Secret, salt: [UInt8], _ cost: Cost) throws(ExportError) -> SymmetricKey {
        guard passphrase.count >= shortestPassphrase else {
            throw .passphraseTooShort(passphrase.count)
        }
        do {
            return try passphrase.withBytes { passphrase in
                try KDF.Scrypt.deriveKey(
                    from: passphrase, salt: salt, outputByteCount: 32, rounds: 1 << Int(cost.exponent),
                    blockSize: Int(Cost.blockSize), parallelism: Int(Cost.parallelism))
            }
        } catch { throw .outOfMemory }
    }
}

package enum ExportError: Error, Equatable {
    case passphraseTooShort(Int)
    case notAnExport
    /// The format version is not supported.
    case otherVersion(UInt16)
    case damaged
    /// The file's parameters need too much memory, or protect the passphrase too weakly.
    case unacceptableCost
    case wrongPassphrase
    /// The content is not a state that altnet writes.
    case impossibleContent
    case encryptionFailed
    case outOfMemory
}

extension ExportError: CustomStringConvertible {
    /// One sentence with the problem and its remedy, without secrets.
    package var description: String {
        switch self {
        case .passphraseTooShort(let count):
            "the passphrase has \(count) bytes: choose one of \(SealedExport.shortestPassphrase) bytes or more"
        case .notAnExport: "not an export of altnet: give a file that 'altnet keyfile export' made"
        case .otherVersion(let version):
            "the export has version \(version), which this altnet does not read: use the altnet that made it"
        case .damaged: "the export is damaged: use another copy of it"
        case .unacceptableCost:
            "the export was not made by altnet: its memory cost is out of range"
        case .wrongPassphrase: "the passphrase is wrong: try again"
        case .impossibleContent: "the export contains an invalid state: export the key file again"
        case .encryptionFailed: "encryption failed: report this as a bug"
        case .outOfMemory: "not enough memory to check the passphrase: stop other programs"
        }
    }
}

extension KeyFile {
    /// Replaces the stored state by an imported one, in one commit. Leaves out a pending switch and leases, which
    /// belong to the exporting device. Replay counters keep the larger number. A changed backup list gets a new
    /// revision, so that no app mistakes it for a known one.
    /// - Parameter replacing: true to replace existing networks.
    /// - Throws: `ImportError.notEmpty`, and errors of the commit. After an error, the state is unchanged.
    package func importState(_ imported: StoredState, replacing: Bool) throws(ImportError) {
        guard replacing || state.networks.isEmpty else { throw .notEmpty(networks: state.networkCount) }
        var new = imported
        new.pendingSwitch = nil
        for ssid in new.statistics.keys { new.statistics[ssid]?.lease = nil }
        new.replayCounters.merge(state.replayCounters, uniquingKeysWith: max)
        let newest = max(state.backupsRevision, imported.backupsRevision)
        let isKnown = state.backupsRevision == 0 || new.backups == state.backups
        // Keep the maximum revision, which cannot increase.
        new.backupsRevision = isKnown || newest == .max ? newest : newest + 1
        do { try commit(new) } catch { throw .store(error) }
    }
}

extension StoredState {
    /// Number of different SSIDs.
    package var networkCount: Int { Set(networks.map(\.ssid)).count }
}

package enum ImportError: Error, Equatable {
    /// The device has networks that the import would replace.
    case notEmpty(networks: Int)
    case store(KeyFileError)
}

extension ImportError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notEmpty(let count):
            "the key file holds \(count) \(count == 1 ? "network" : "networks"): give --replace to "
                + "overwrite them with the export"
        case .store(let error): "\(error)"
        }
    }
}
