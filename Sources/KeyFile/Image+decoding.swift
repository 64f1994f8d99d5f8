import AgentModel

extension Image {
    /// The version of the file that begins with `bytes`. It can be told of any version's file, whatever follows.
    static func version(of bytes: UnsafeRawBufferPointer) throws(Damage) -> UInt16 {
        var reader = ByteReader(bytes, failingWith: .notKeyFile)
        let isMagic = try reader.bytes(magic.count).elementsEqual(magic)
        let version = try reader.integer(UInt16.self)
        let reserved = try reader.integer(UInt16.self)
        let checksum = try reader.integer(UInt32.self)
        guard isMagic, checksum == CRC32.checksum(bytes.prefix(prologueSize - checksumSize)), version > 0,
            version > Self.version || reserved == 0
        else { throw .notKeyFile }
        return version
    }

    /// Reads a whole file of this version.
    init(decoding bytes: UnsafeRawBufferPointer) throws(Damage) {
        var reader = ByteReader(bytes.dropFirst(Self.prologueSize), failingWith: .wrongLength)
        let generation = try reader.integer(UInt64.self)
        let length = try reader.integer(UInt32.self)
        // Bounded first: the sum must not overflow where an Int has 32 bits.
        guard length < Self.maximumSize, bytes.count == Self.headerSize + Int(length) + Self.checksumSize else {
            throw .wrongLength
        }
        let body = try reader.bytes(Int(length))
        let checksum = try reader.integer(UInt32.self)
        let checked = bytes.dropFirst(Self.prologueSize).dropLast(Self.checksumSize)
        guard checksum == CRC32.checksum(checked) else { throw .wrongChecksum }
        var bodyReader = ByteReader(body, failingWith: .impossibleContent)
        self.init(generation: generation, state: try bodyReader.state())
        guard bodyReader.isAtEnd else { throw .impossibleContent }
    }
}

/// Reads from the front of bytes that may hold anything.
private struct ByteReader {
    private var rest: Slice<UnsafeRawBufferPointer>
    private let shortage: Damage

    /// - Parameter shortage: what it means when more is asked for than there is.
    init(_ bytes: Slice<UnsafeRawBufferPointer>, failingWith shortage: Damage) {
        rest = bytes
        self.shortage = shortage
    }

    init(_ bytes: UnsafeRawBufferPointer, failingWith shortage: Damage) {
        self.init(bytes[...], failingWith: shortage)
    }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func bytes(_ count: Int) throws(Damage) -> Slice<UnsafeRawBufferPointer> {
        guard count <= rest.count else { throw shortage }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    mutating func integer<Value: FixedWidthInteger & UnsignedInteger>(_: Value.Type) throws(Damage) -> Value {
        try bytes(MemoryLayout<Value>.size).reduce(0) { $0 << 8 | Value($1) }
    }

    /// Bytes that are preceded by their number.
    private mutating func countedBytes() throws(Damage) -> Slice<UnsafeRawBufferPointer> {
        try bytes(Int(integer(UInt8.self)))
    }
}

extension ByteReader {
    mutating func state() throws(Damage) -> StoredState {
        var state = StoredState(backupsRevision: try integer(UInt64.self))
        let flags = try integer(UInt8.self)
        guard flags & ~Image.StateFlag.all == 0 else { throw .impossibleContent }
        if flags & Image.StateFlag.home != 0 { state.home = try network() }
        if flags & Image.StateFlag.chosen != 0 { state.chosen = try network() }
        let count = Int(try integer(UInt8.self))
        guard count <= KeyFile.allowedMaximum.upperBound else { throw .impossibleContent }
        for _ in 0..<count { state.backups.append(try network()) }
        if flags & Image.StateFlag.pendingSwitch != 0 { state.pendingSwitch = try pendingSwitch() }
        do { try state.validate() } catch { throw .impossibleContent }
        return state
    }

    private mutating func network() throws(Damage) -> StoredNetwork {
        guard let ssid = try optionalSSID() else { throw .impossibleContent }
        let flags = try integer(UInt8.self)
        guard flags & ~Image.NetworkFlag.all == 0 else { throw .impossibleContent }
        let isHidden = flags & Image.NetworkFlag.hidden != 0
        guard flags & Image.NetworkFlag.passphrase != 0 else {
            return StoredNetwork(ssid: ssid, credential: .none, isHidden: isHidden)
        }
        let passphrase = Secret(try countedBytes())
        let psk = Secret(try bytes(StoredState.pskLength))
        return StoredNetwork(ssid: ssid, credential: .passphrase(passphrase, psk: psk), isHidden: isHidden)
    }

    private mutating func pendingSwitch() throws(Damage) -> PendingSwitch {
        guard let id = String(validating: try countedBytes(), as: UTF8.self) else { throw .impossibleContent }
        return PendingSwitch(id: id, target: try network(), cameFrom: try optionalSSID())
    }

    private mutating func optionalSSID() throws(Damage) -> SSID? {
        let bytes = try countedBytes()
        guard !bytes.isEmpty else { return nil }
        do { return try SSID(bytes: bytes) } catch { throw .impossibleContent }
    }
}
