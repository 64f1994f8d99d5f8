import AgentModel
import KeyFileSimulation

@testable import KeyFile

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
