import AgentModel
import Synchronization

/// Readings of the network in use, under that network's name: with another address it is still the same network.
final class NetworkReadings: Sendable {
    let marks: ReadingMarks
    private let current = Mutex("")

    init(_ marks: ReadingMarks) { self.marks = marks }

    /// The network's name, as ``NetworkNames`` has it; empty where another uplink is used.
    var network: String {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }

    /// - Returns: nil where that is left alone.
    func reading<Value: Sendable>(
        _ kind: OutsideSource.Kind, _ read: @Sendable () async -> Value
    ) async -> Value? {
        await marks.reading(OutsideSource(kind, network), read)
    }
}
