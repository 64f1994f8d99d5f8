import CWpaClient
import Glibc
import Linux

/// Tells when a process ends, by whatever means (pidfd_open(2)).
///
/// Nothing else does: a datagram socket hears nothing of the other end's death, and a killed process leaves its socket
/// file behind.
@AgentLoop
final class ProcessWatch {
    private let descriptor: Int32
    private let watch: ReadWatch

    /// - Returns: nil where the process is gone already or the kernel cannot watch it.
    init?(process: Int32, onEnd: @escaping @AgentLoop @Sendable () -> Void) {
        descriptor = wpa_client_watch_process(process)
        guard descriptor >= 0 else { return nil }
        watch = ReadWatch(fileDescriptor: descriptor, onReadable: onEnd)
    }

    func close() {
        let descriptor = descriptor
        watch.cancel { _ = Glibc.close(descriptor) }
    }
}
