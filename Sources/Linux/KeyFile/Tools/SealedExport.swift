import AgentModel
import Crypto
import CryptoExtras

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A state outside its device, under a passphrase: scrypt (RFC 7914) makes the key, AES-256-GCM seals the cells.
/// Docs/key-file.md has the layout.
package enum SealedExport {
    /// In bytes. Guessing goes on offline, on other people's machines, so that a short one is as good as none.
    package static let shortestPassphrase = 8
    /// No export is larger.
    package static let maximumSize = headerSize + CellChanges.maximumSize + Record.tagSize + checksumSize

    static let headerSize = 48
    static let checksumSize = 4
    private static let version: UInt16 = 1
    private static let magic = Array("ALTNETSX".utf8)
    private static let saltSize = 16

    /// The cost of making the key from the passphrase.
    struct Cost {
        /// The logarithm of scrypt's N. 15 takes 32 MiB, and some tenths of a second on a board.
        let exponent: UInt8
        static let blockSize: UInt8 = 8
        static let parallelism: UInt8 = 1
        static let standard = Cost(exponent: 15)

        /// The parameters come from outside: at most 64 MiB, and not so little that it is no protection.
        init?(exponent: UInt8, blockSize: UInt8, parallelism: UInt8) {
            guard (14...16).contains(exponent), blockSize == Self.blockSize, parallelism == Self.parallelism else {
                return nil
            }
            self.init(exponent: exponent)
        }

        private init(exponent: UInt8) { self.exponent = exponent }
    }

    /// - Parameter random: makes salt and nonce.
    /// - Throws: `passphraseTooShort`.
    package static func seal(
        _ state: StoredState, under passphrase: Secret,
        random: any RandomNumberGenerator = SystemRandomNumberGenerator()
    ) throws(ExportError) -> [UInt8] {
        var random = random
        let salt = (0..<saltSize).map { _ in UInt8.random(in: 0...255, using: &random) }
        let nonce = (0..<Record.nonceSize).map { _ in UInt8.random(in: 0...255, using: &random) }
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

    /// - Throws: what is wrong with the export or the passphrase, before any of it counts.
    package static func open(_ file: [UInt8], with passphrase: Secret) throws(ExportError) -> StoredState {
        try open(file) { salt, cost throws(ExportError) in try key(from: passphrase, salt: salt, cost) }
    }

    /// - Parameter makeKey: makes the key of an export whose checksum is right.
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

    /// An export taken apart, its checksum right.
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

/// Why an export cannot be made or read.
package enum ExportError: Error, Equatable {
    case passphraseTooShort(Int)
    case notAnExport
    /// Written by an altnet that this one does not understand.
    case otherVersion(UInt16)
    case damaged
    /// Reading it would take more memory than a device has, or its passphrase is hardly protected.
    case unacceptableCost
    case wrongPassphrase
    /// Its content is not a state that altnet writes.
    case impossibleContent
    case encryptionFailed
    case outOfMemory
}

extension ExportError: CustomStringConvertible {
    /// One sentence that says what is wrong and what to do. It never holds a secret.
    package var description: String {
        switch self {
        case .passphraseTooShort(let count):
            "a passphrase has \(SealedExport.shortestPassphrase) bytes or more, this one has \(count): choose a longer one"
        case .notAnExport: "this is no export of altnet: name a file that 'altnet keyfile export' made"
        case .otherVersion(let version):
            "the export has version \(version), which this altnet does not read: use the altnet that made it"
        case .damaged: "the export is damaged: use another copy of it"
        case .unacceptableCost:
            "the export was not made by altnet: reading it would take too much memory, or too little"
        case .wrongPassphrase: "the passphrase is wrong: try again"
        case .impossibleContent: "the export holds a state that altnet does not write: export it again"
        case .encryptionFailed: "the cryptographic library refused: report this as a defect"
        case .outOfMemory: "there is not enough memory for the work that guards the passphrase: end other programs"
        }
    }
}

extension KeyFile {
    /// Puts an exported state in the place of what is stored, as one commit.
    ///
    /// A switch that was under way and leases belong to the device it was exported from, and are left out. Counters that keep
    /// messages from being accepted twice stay at the larger of the two numbers. The list of backups gets a revision of
    /// its own where it is another list, so that no app takes it for the one it knows.
    /// - Parameter replacing: whether networks that are stored may go.
    /// - Throws: `ImportError.notEmpty`, and what a commit throws; then nothing has changed.
    package func importState(_ imported: StoredState, replacing: Bool) throws(ImportError) {
        guard replacing || state.networks.isEmpty else { throw .notEmpty(networks: state.networkCount) }
        var new = imported
        new.pendingSwitch = nil
        for ssid in new.statistics.keys { new.statistics[ssid]?.lease = nil }
        new.replayCounters.merge(state.replayCounters, uniquingKeysWith: max)
        let newest = max(state.backupsRevision, imported.backupsRevision)
        let isKnown = state.backupsRevision == 0 || new.backups == state.backups
        // A revision that cannot grow any more stays: no app has ever seen so many changes.
        new.backupsRevision = isKnown || newest == .max ? newest : newest + 1
        do { try commit(new) } catch { throw .store(error) }
    }
}

extension StoredState {
    /// How many names its networks have.
    package var networkCount: Int { Set(networks.map(\.ssid)).count }
}

/// Why an export was not imported.
package enum ImportError: Error, Equatable {
    /// The device has networks, which the import would replace.
    case notEmpty(networks: Int)
    case store(KeyFileError)
}

extension ImportError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notEmpty(let count):
            "the key file holds \(count) \(count == 1 ? "network" : "networks"): give --replace to put the export in their "
                + "place"
        case .store(let error): "\(error)"
        }
    }
}
