import AgentModel
import NIOCore
import Synchronization

/// Reads what is noted about one interface's network, and waits for it where the network is too new.
final class NoteReader: Sendable {
    private let interface: String?
    private let files: NoteFiles
    private let watch: any OutsideWatch
    /// What was noted about the network before.
    private let old = Mutex<NoteMarks?>(nil)

    /// A DHCP client writes its note some milliseconds after the address is there.
    private static let pause = Duration.milliseconds(100)

    init(_ interface: String?, _ files: NoteFiles, watchedBy watch: any OutsideWatch = NoOutsideWatch()) {
        self.interface = interface
        self.files = files
        self.watch = watch
    }

    var notes: NetworkNotes {
        watch.reading(OutsideSource(.leaseNotes, interface ?? "")) {
            files.notes(of: interface, since: old.withLock { $0 })
        } ?? NetworkNotes()
    }

    /// What is noted now is about a network that is left, or still holds.
    func disregardNotes(_ areOld: Bool) {
        let marks = areOld ? files.marks(of: interface) : nil
        old.withLock { $0 = marks }
    }

    /// - Returns: what is noted as soon as it will do, or at the end of the time.
    func notes(until end: NIODeadline, that suffices: @Sendable (NetworkNotes) -> Bool) async -> NetworkNotes {
        while true {
            let notes = notes
            guard !suffices(notes), NIODeadline.now() + TimeAmount(Self.pause) < end, !Task.isCancelled else {
                return notes
            }
            try? await Task.sleep(for: Self.pause)
        }
    }
}
