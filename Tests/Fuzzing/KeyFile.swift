import AgentModel
import Crypto
import KeyFileSimulation
import Randomness

@testable import KeyFile

extension FuzzTarget {
    /// An input is the content of the file or the chip, and the following calls to the store. For any of them, the
    /// store opens or says why not, what it holds was committed, and what it has acknowledged is there after a restart.
    static let keyFile = FuzzTarget(
        "keyfile", "a key file or a flash chip, and what happens to the store on it", longest: 256, goal: 1_000_000,
        seeds: { (0..<6).flatMap { medium in (0..<3).map { [1, medium, $0, 1, 4, 1, 4, 0, 9] } } }
    ) { bytes in
        var input = FuzzInput(bytes)
        do {
            var life = try Life(&input)
            try life.run(&input)
        } catch {
            // A key file that is not to be touched, or an accident that the input asked for.
        }
    }
}

/// One device, from what the input puts on it to the end of the input.
private struct Life {
    private var board: SimulatedBoard
    private var walk: StateWalk
    private var random: SeededRandom
    /// Every state that may be found.
    private var committed: [StoredState]

    /// Few, so that there are many lives.
    private static let mostEvents = 24

    init(_ input: inout FuzzInput) throws {
        let seed = UInt64(input.byte())
        random = SeededRandom(seed: seed)
        let medium = input.byte() % 6
        let isFile = medium % 2 == 0
        let sample: Sample =
            switch medium {
            case 0: .file
            case 2: .largeFile
            case 4: .formerFile
            case 5: .largeFlash
            default: .flash
            }
        var bytes = sample.bytes
        switch input.byte() % 3 {
        case 0: bytes = input.bytes(isFile ? input.number(below: 40_000) : bytes.count)
        case 1: Forgery(of: sample.geometry).apply(to: &bytes, &input, correctsChecksums: false)
        default: Forgery(of: sample.geometry).apply(to: &bytes, &input, correctsChecksums: true)
        }
        var files = sample.rootKey
        if isFile { files[SimulatedDisk.storeName] = bytes }
        let disk = SimulatedDisk(files: files, seed: seed)
        let isAnchored = input.byte() % 2 == 0
        if isFile {
            board = SimulatedBoard(disk, isAnchored: isAnchored, seed: seed)
        } else {
            bytes += Array(repeating: 0xff, count: sample.geometry.size - bytes.count)
            let flash = SimulatedFlash(sample.geometry, bytes: bytes, seed: seed)
            board = SimulatedBoard(flash, disk: disk, isAnchored: isAnchored, seed: seed)
        }
        committed = [StoredState()] + sample.states
        walk = StateWalk(seed: seed, ballast: medium == 2 || medium == 5 ? 12_000 : 0)
    }

    mutating func run(_ input: inout FuzzInput) throws {
        var store = try opened()
        for _ in 0..<Self.mostEvents where !input.isEmpty {
            switch input.byte() % 8 {
            case 0:
                board = board.afterPowerCut(.before, using: &random)
                store = try opened()
            case 1: store = try cutDuringCommit(of: store, input.byte())
            case 2:
                board.storage.accident = Accident(at: board.storage.operations + input.byte() % 16, errno: 5)
                do { try commit(to: store) } catch {}
                board.storage.accident = nil
            case 3: try store.changeRootKey(to: board.anotherRootKey())
            default: try commit(to: store)
            }
        }
        let last = store.state
        let again = try opened()
        precondition(again.state == last, "what was acknowledged is not there after a restart")
    }

    private func opened() throws -> KeyFile {
        let store = try board.open()
        precondition(committed.contains(store.state), "a state that was never committed")
        return store
    }

    private mutating func commit(to store: KeyFile) throws {
        walk.resume(from: store.state)
        let next = walk.next()
        committed.append(next)
        try store.commit(next)
        precondition(store.state == next, "what was acknowledged is not the state")
    }

    private mutating func cutDuringCommit(of store: KeyFile, _ number: Int) throws -> KeyFile {
        let outcome = CutOutcome.allCases[number % CutOutcome.allCases.count]
        let cut = number / CutOutcome.allCases.count
        var operation = 0
        var survivor: SimulatedBoard?
        let board = board
        var random = random
        board.onOperation = {
            if operation == cut { survivor = board.afterPowerCut(outcome, using: &random) }
            operation += 1
        }
        defer { board.onOperation = nil }
        try commit(to: store)
        guard let survivor else { return store }
        self.board = survivor
        return try opened()
    }
}

enum KeyFileSample {
    static func walk() -> StateWalk { StateWalk(seed: 1) }
}

extension FuzzTarget {
    /// A store as it is found, the file of its root key, and its anchor: looking at them changes nothing, shows the
    /// same twice, and tells of no state that was never committed.
    static let keyMedium = FuzzTarget(
        "key-medium", "the bytes of a key file or a chip, of its root key and of its anchor, as they are examined",
        longest: 256, goal: 1_000_000,
        seeds: {
            (0..<6).map { [$0, 2, 0, 0, 0, 1, 4, 0, 7] } + [rootKeyText, [6] + [UInt8](repeating: 0xa5, count: 32)]
        },
        preparing: {
            let files = [Sample.file, .largeFile, .formerFile]
            let chips = [Sample.flash, .largeFlash, .flash]
            return { bytes in
                var input = FuzzInput(bytes)
                switch input.byte() % 8 {
                case let medium where medium < 3: examine(files[medium], isFile: true, &input)
                case let medium where medium < 6: examine(chips[medium - 3], isFile: false, &input)
                case 6: readRootKey(input.remaining())
                default: readAnchor(input.remaining())
                }
            }
        })
}

private let rootKeyText = [6] + Array("00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n".utf8)

private func examine(_ sample: Sample, isFile: Bool, _ input: inout FuzzInput) {
    var content = sample.bytes
    switch input.byte() % 3 {
    case 0: content = input.bytes(min(input.number(below: 4096), content.count))
    case 1: Forgery(of: sample.geometry).apply(to: &content, &input, correctsChecksums: false)
    default: Forgery(of: sample.geometry).apply(to: &content, &input, correctsChecksums: true)
    }
    let roots = input.byte().isMultiple(of: 4) ? nil : sample.roots
    let disk = SimulatedDisk(files: [SimulatedDisk.storeName: content])
    func look() -> Examination? {
        do throws(KeyFileError) {
            let medium: any Medium
            if isFile {
                medium = try disk.medium()
            } else {
                let blank = repeatElement(UInt8(0xff), count: max(0, sample.geometry.size - content.count))
                medium = SimulatedFlash(sample.geometry, bytes: content + blank)
            }
            return try Examination(of: medium, roots: roots, path: "/store/keyfile")
        } catch {
            return nil
        }
    }
    let found = look()
    precondition(found == look(), "the same store looks different")
    precondition(disk.files == [SimulatedDisk.storeName: content], "looking has changed something")
    if case .state(let state, _)? = found?.content {
        precondition(sample.states.contains(state), "a state that was never committed")
    }
}

private func readRootKey(_ text: [UInt8]) {
    let key = text.withUnsafeBytes { try? RootKeyForm.decode($0, source: "f") }
    guard let key else { return }
    let written = RootKeyForm.encode(key).withBytes { Array($0) }
    precondition(written.withUnsafeBytes { try? RootKeyForm.decode($0, source: "f") } == key)
}

private func readAnchor(_ content: [UInt8]) {
    let disk = SimulatedDisk(files: ["anchor": content])
    let key = AnchorKey(root: Secret([UInt8](repeating: 7, count: RootKeys.size)))
    let position = try? FileAnchor(name: "anchor", files: disk).read([key])
    precondition(position == nil, "an anchor that was written without the key")
    precondition(disk.files == ["anchor": content])
}

extension FuzzTarget {
    /// The whole file as it comes, and what is sealed in it: the key is made without scrypt, which is the same for all.
    /// An opened state is one that altnet writes, and it is the same once it is sealed and opened again.
    static let sealedExport = FuzzTarget(
        "sealed-export", "an export of the key file, and what is sealed in it", longest: Record.maximumBody,
        seeds: { ExportSample.all }
    ) { bytes in
        let isSealed = (bytes.first ?? 0).isMultiple(of: 2)
        let file =
            isSealed
            ? ExportSample.sealing(Array(bytes.dropFirst())) : ExportSample.correcting(Array(bytes.dropFirst()))
        do throws(ExportError) {
            let state = try ExportSample.open(file)
            let cells = state.cells(keepingSlotsOf: [:])
            precondition(StoredState(cells: cells) == state, "a state reads otherwise once it is written")
        } catch {
            precondition(error != .encryptionFailed && error.description.utf8.count < 200)
        }
    }
}

private enum ExportSample {
    private static let key = SymmetricKey(data: [UInt8](repeating: 7, count: 32))
    /// Of version 1 with the usual cost, and salt and nonce of any bytes.
    private static let head = Array("ALTNETSX".utf8) + [0, 1, 15, 8, 1, 0, 0, 0] + [UInt8](repeating: 5, count: 28)

    static func open(_ file: [UInt8]) throws(ExportError) -> StoredState {
        try SealedExport.open(file) { _, _ throws(ExportError) in key }
    }

    /// An export that holds these cells.
    static func sealing(_ body: [UInt8]) -> [UInt8] {
        let header = head + [0, 0, UInt8(body.count >> 8 & 0xff), UInt8(body.count & 0xff)]
        guard let nonce = try? AES.GCM.Nonce(data: head.suffix(12)),
            let box = try? AES.GCM.seal(body, using: key, nonce: nonce, authenticating: header)
        else { preconditionFailure("no box") }
        return correcting(header + box.ciphertext + box.tag)
    }

    /// With the right checksum behind it.
    static func correcting(_ file: [UInt8]) -> [UInt8] {
        let checksum = file.withUnsafeBytes { CRC32.checksum($0) }
        return file + withUnsafeBytes(of: checksum.bigEndian, Array.init)
    }

    static var all: [[UInt8]] {
        var walk = KeyFileSample.walk()
        let states = (0..<40).map { _ in walk.next() }
        let bodies = states.suffix(4).compactMap { state -> [UInt8]? in
            var buffer = WipedBuffer(capacity: Record.maximumBody)
            guard
                (try? CellChanges.encode(CellChanges.between([:], state.cells(keepingSlotsOf: [:])), into: &buffer))
                    != nil
            else { return nil }
            return buffer.withBytes { Array($0) }
        }
        return bodies.map { [0] + $0 } + bodies.prefix(1).map { [1] + sealing($0).dropLast(4) }
    }
}

/// Changes that an input asks for in the bytes of a store; where it asks for that as well, with right checksums, so
/// that these are no shelter for what is behind them.
struct Forgery {
    private let geometry: Geometry

    init(of geometry: Geometry) { self.geometry = geometry }

    func apply(to bytes: inout [UInt8], _ input: inout FuzzInput, correctsChecksums: Bool) {
        for _ in 0..<input.byte() % 8 {
            let offset = input.number(below: bytes.count)
            let sector = offset / geometry.sectorSize * geometry.sectorSize
            switch input.byte() % 6 {
            case 0: bytes[offset] ^= 1 << UInt8(input.byte() % 8)
            case 1: overwrite(&bytes, at: offset, with: input.bytes(input.byte() % 64))
            case 2: overwrite(&bytes, at: offset, with: Array(repeating: 0xff, count: input.byte() * 16))
            case 3:
                let other = input.byte() % geometry.sectorCount * geometry.sectorSize
                overwrite(&bytes, at: sector, with: Array(bytes[other..<other + geometry.sectorSize]))
            case 4:
                overwrite(&bytes, at: sector + input.byte() % 64, with: input.bytes(1 + input.byte() % 8))
                if correctsChecksums { correctHeader(&bytes, at: sector) }
            default:
                let record = offset / 16 * 16
                overwrite(&bytes, at: record + input.byte() % 12, with: input.bytes(1 + input.byte() % 8))
                if correctsChecksums {
                    let mark = bytes[sector + 60..<sector + 64].reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
                    correct(&bytes, record..<record + 12, after: mark)
                }
            }
        }
    }

    private func overwrite(_ bytes: inout [UInt8], at offset: Int, with new: [UInt8]) {
        for (index, byte) in zip(offset..<bytes.count, new) { bytes[index] = byte }
    }

    private func correctHeader(_ bytes: inout [UInt8], at sector: Int) {
        correct(&bytes, sector..<sector + 12)
        correct(&bytes, sector + 16..<sector + 60)
    }

    /// Writes the checksum of a part behind it.
    /// - Parameter mark: of the sector, if the part is a record's header.
    private func correct(_ bytes: inout [UInt8], _ part: Range<Int>, after mark: UInt32 = 0) {
        guard part.upperBound + 4 <= bytes.count else { return }
        var crc = ~mark
        for byte in bytes[part] {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc >> 1 ^ (crc & 1 == 0 ? 0 : 0xedb8_8320) }
        }
        withUnsafeBytes(of: (~crc).bigEndian) { bytes.replaceSubrange(part.upperBound..<part.upperBound + 4, with: $0) }
    }
}

/// A store that has been in use for long: what a fuzzer cannot come up with, since it is encrypted.
struct Sample: Sendable {
    let geometry: Geometry
    let bytes: [UInt8]
    /// The file with its root key.
    let rootKey: [String: [UInt8]]
    /// That key itself.
    let roots: [Secret]
    /// Everything that was ever committed to it.
    let states: [StoredState]

    static let file = Sample(on: .file)
    static let flash = Sample(on: .smallFlash)
    /// Of states that take several sectors.
    static let largeFile = Sample(on: .largeFile, commits: 60)
    static let largeFlash = Sample(on: .largeFlash, commits: 60)
    /// In version 2 of the format.
    static let formerFile = Sample(on: .formerFile)

    private init(on scenario: Scenario, commits: Int = 300) {
        let board = scenario.board(seed: 1)
        if scenario.isFormer { board.version = RecordLog.currentVersion - 1 }
        var states: [StoredState] = []
        var walk = StateWalk(seed: 1, ballast: scenario.ballast)
        do {
            let store = try board.open()
            for _ in 0..<commits {
                try store.commit(walk.next())
                states.append(store.state)
            }
        } catch { preconditionFailure("\(error)") }
        let files = board.disk.files
        let flash = board.storage as? SimulatedFlash
        bytes = flash?.bytes ?? files[SimulatedDisk.storeName] ?? []
        let form = Geometry.file
        geometry =
            flash?.geometry
            ?? Geometry(
                sectorSize: form.sectorSize, sectorCount: bytes.count / form.sectorSize, writeUnit: form.writeUnit)
            ?? form
        rootKey = files.filter { $0.key == "root-key" }
        roots = rootKey.values.compactMap { text in
            text.withUnsafeBytes { try? RootKeyForm.decode($0, source: "sample") }
        }
        self.states = states
    }
}
