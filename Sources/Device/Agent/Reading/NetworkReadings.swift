import AgentModel
import Synchronization

/// Guards readings for the network in use. The marks use the network's name, so a new address changes nothing.
final class NetworkReadings: Sendable {
    let marks: ReadingMarks
    private let current = Mutex("")

    init(_ marks: ReadingMarks) { self.marks = marks }

    /// Name of the network (``NetworkNames``); empty with another uplink.
    var network: String {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }

    /// - Returns: nil if the source is paused.
    func reading<Value: Sendable>(
        _ kind: OutsideSource.Kind, _ read: @Sendable () async -> Value
    ) async -> Value? {
        await marks.reading(OutsideSource(kind, network), read)
    }
}
