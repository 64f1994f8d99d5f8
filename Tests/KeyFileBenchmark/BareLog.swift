import Glibc

/// The least that a durable update can cost: one write of a record, one fdatasync, and nothing that could be read.
final class BareLog: Contestant {
    private let file: OpenFile
    private let record: [UInt8]
    private let isPreallocated: Bool
    private var offset = 0

    var networkCount: Int? { nil }

    /// The size of altnet's file.
    private static let preallocatedSize = 32768

    /// - Parameter isPreallocated: writes into a file that already has its size, around in it, so that the file system
    ///   has no new size or place to note; otherwise the file grows with every record.
    init(directory: String, recordSize: Int, isPreallocated: Bool) throws {
        file = try OpenFile(directory + "/log", O_RDWR | O_CREAT | (isPreallocated ? 0 : O_APPEND))
        record = [UInt8](repeating: 0xa5, count: recordSize)
        self.isPreallocated = isPreallocated
        _ = try file.readAll()
    }

    func setUp(_ networks: [Network]) throws {
        if isPreallocated {
            // Page by page: what is written at one stroke the kernel keeps as one large page, and counts as such.
            for offset in stride(from: 0, to: Self.preallocatedSize, by: 4096) {
                try file.write([UInt8](repeating: 0xff, count: 4096), at: offset)
            }
        }
        try file.synchronise()
    }

    func make(_ change: Change) throws {
        if isPreallocated {
            if offset + record.count > Self.preallocatedSize { offset = 0 }
            try file.write(record, at: offset)
            offset += record.count
        } else {
            try file.write(record)
        }
        try file.synchroniseData()
    }
}
