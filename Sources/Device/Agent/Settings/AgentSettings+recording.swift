import Failover
import Logging

extension AgentSettings {
    /// Opens the recording. Returns nil if the settings have none, or on an error.
    func recording(log: Logger) -> Recording? {
        guard let recordPath else { return nil }
        do throws(RecordError) {
            let recording = try Recording(
                path: recordPath, limit: recordLimit, agent: Version.current, settings: policy
            ) { log.warning("the recording has ended: \($0)") }
            log.notice("recording the policy's events and decisions in \(recordPath)")
            return recording
        } catch {
            log.error("cannot record: \(error)")
            return nil
        }
    }
}
