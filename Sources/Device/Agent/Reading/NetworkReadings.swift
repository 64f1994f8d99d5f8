import AgentModel
import Synchronization

/// Guards the reading of data from the network in use. The marks name the network, so they do not depend on addresses.
final class NetworkReadings: Sendable {
    let marks: ReadingMarks
    private let current = Mutex("")

    init(_ marks: ReadingMarks) { self.marks = marks }

    /// Pseudonym of the network (``NetworkNames``); empty with another uplink.
    var network: String {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }

    /// - Returns: the result of `read`; nil if the source is paused.
    func reading<Value: Sendable>(
        _ kind: OutsideSource.Kind, _ read: @Sendable () async -> Value
    ) async -> Value? {
        await marks.reading(OutsideSource(kind, network), read)
    }
}
