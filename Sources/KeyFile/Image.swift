/// The key file's content: a state and its place in the order of commits. Docs/key-file.md has the layout.
struct Image: Equatable {
    /// Counts the commits that were tried, and starts again at 0 after the last of its numbers.
    let generation: UInt64
    let state: StoredState

    /// Whether this was written after `other` (serial number arithmetic, RFC 1982).
    func isNewer(than other: Image) -> Bool { Int64(bitPattern: generation &- other.generation) > 0 }

    static let version: UInt16 = 1
    static let magic = Array("ALTNETKF".utf8)
    /// The part that every version shares: magic, version, reserved, checksum.
    static let prologueSize = 16
    /// The prologue, the generation and the body's length.
    static let headerSize = prologueSize + 8 + 4
    static let checksumSize = 4
    /// More bytes than any valid file has: the largest, with ten backups, has 1830.
    static let maximumSize = 2048

    enum NetworkFlag {
        static let hidden: UInt8 = 1
        static let passphrase: UInt8 = 2
        static let all = hidden | passphrase
    }

    enum StateFlag {
        static let home: UInt8 = 1
        static let chosen: UInt8 = 2
        static let pendingSwitch: UInt8 = 4
        static let all = home | chosen | pendingSwitch
    }
}
