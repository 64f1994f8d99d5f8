import AgentModel
import Crypto

@testable import KeyFile

extension FuzzTarget {
    /// The whole file as it comes, and what is sealed in it: the key is made without scrypt, which is the same for all.
    /// What is opened is a state that altnet writes, and it is the same once it is sealed and opened again.
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
