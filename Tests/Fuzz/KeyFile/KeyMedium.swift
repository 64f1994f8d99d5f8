import AgentModel
import KeyFileSimulation
import Randomness

@testable import KeyFile

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
