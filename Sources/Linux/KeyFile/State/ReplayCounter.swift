import AgentModel

/// The last number that was accepted of one sender.
struct ReplayCounter {
    let name: String
    let last: UInt64

    /// The number, and the name as the rest.
    var cell: Secret {
        Secret(upTo: 8 + StoredState.counterNameLength.upperBound) { cell in
            cell.append(bigEndian: last)
            cell.append(name.utf8)
        }
    }
}

extension ReplayCounter {
    init?(cell: Secret) {
        guard let counter = cell.withBytes({ ReplayCounter($0) }) else { return nil }
        self = counter
    }

    private init?(_ bytes: UnsafeRawBufferPointer) {
        var reader = ByteReader(bytes)
        guard let last = reader.integer(UInt64.self),
            let name = String(validating: bytes.dropFirst(8), as: UTF8.self)
        else { return nil }
        self.init(name: name, last: last)
    }
}
