/// Something that opening the store found amiss, in words for the log.
public enum Finding: Sendable, Equatable {
    /// The file could not be read and was moved to `keptAs`. What is left is the last commit if it had not been renamed
    /// yet, or nothing.
    case damaged(Damage, keptAs: String)
    /// The last commit was cut short after its data was complete. It counts.
    case interruptedCommitFinished
    /// Other users could read the file.
    case readableByOthers(corrected: Bool)
    /// The disk refused to be tidied up. What was read is right all the same; the next commit tries again first.
    case repairPostponed(KeyFileError)
}

extension Finding: CustomStringConvertible {
    public var description: String {
        switch self {
        case .damaged(let damage, let path):
            "the key file is damaged (\(damage)) and was kept aside as \(path): provision the device again if networks "
                + "are missing"
        case .interruptedCommitFinished: "the last write to the key file was cut short, and was finished"
        case .readableByOthers(let corrected):
            "other users could read the key file's passwords: \(corrected ? "its mode is 0600 now" : "set its mode to 0600")"
        case .repairPostponed(let error): "the key file is readable, but was not tidied up: \(error)"
        }
    }
}

/// What is wrong with a file's bytes.
public enum Damage: Error, Sendable, Equatable {
    /// Too short, or the start is not a key file's.
    case notKeyFile
    /// Cut off, or with something behind its end.
    case wrongLength
    /// The bytes are not those that were written.
    case wrongChecksum
    /// As written, but with values that altnet never writes.
    case impossibleContent
}

extension Damage: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notKeyFile: "not a key file"
        case .wrongLength: "wrong length"
        case .wrongChecksum: "wrong checksum"
        case .impossibleContent: "impossible content"
        }
    }
}
