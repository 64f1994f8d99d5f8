import AgentModel
import CWpaClient
import Glibc
import Linux

/// A connected, non-blocking control socket of wpa_supplicant. Each datagram is a command, a reply or an event. Uses
/// libwpa_client only to connect: its `wpa_ctrl_request` blocks for up to 10 s.
@AgentLoop
final class ControlSocket {
    /// Maximum bytes of a datagram, more than wpa_supplicant sends (hostap 2.10: replies have at most 4096).
    static let maximumLength = 8192

    /// A received message with its sender's process ID; 0 if unknown.
    enum Arrival {
        case datagram(ArraySlice<UInt8>, sender: Int32)
        case oversized
    }

    private let fileDescriptor: Int32
    private let watch: ReadWatch
    private let control: OpaquePointer
    private var isOpen = true

    /// - Parameter replyDirectory: folder of this side's socket file, accessible to wpa_supplicant; nil for
    ///   libwpa_client's default.
    init(
        path: String, replyDirectory: String?, onReadable: @escaping @AgentLoop @Sendable () -> Void
    ) throws(SupplicantError) {
        errno = 0
        guard let control = wpa_ctrl_open2(path, replyDirectory) else {
            throw .system(SystemError("connect to \(path)"))
        }
        self.control = control
        fileDescriptor = wpa_ctrl_get_fd(control)
        // libwpa_client would leave the descriptor open across exec.
        _ = fcntl(fileDescriptor, F_SETFD, FD_CLOEXEC)
        // Ignores a failure: the sender is then unknown, and frequent status checks replace the watch of its process.
        _ = wpa_client_ask_for_senders(fileDescriptor)
        watch = ReadWatch(fileDescriptor: fileDescriptor, onReadable: onReadable)
    }

    func send(_ datagram: UnsafeRawBufferPointer) throws(SupplicantError) {
        guard isOpen else { throw .unavailable }
        guard Glibc.send(fileDescriptor, datagram.baseAddress, datagram.count, Int32(MSG_DONTWAIT)) >= 0
        else { throw .system(SystemError("send to wpa_supplicant")) }
    }

    func receive() throws(SupplicantError) -> Arrival? {
        guard isOpen else { return nil }
        // A permanent buffer would keep memory in use.
        let received = withUnsafeTemporaryAllocation(byteCount: Self.maximumLength, alignment: 1) { buffer in
            var sender: Int32 = 0
            let length = wpa_client_receive(fileDescriptor, buffer.baseAddress, buffer.count, &sender)
            guard length >= 0 else { return Received.failed(errno: errno) }
            guard length <= buffer.count else { return .arrived(.oversized) }
            return .arrived(.datagram(ArraySlice(buffer[..<length]), sender: sender))
        }
        switch received {
        case .arrived(let arrival): return arrival
        case .failed(EAGAIN), .failed(EINTR): return nil
        case .failed(let errno): throw .system(SystemError("receive from wpa_supplicant", errno: errno))
        }
    }

    private enum Received {
        case arrived(Arrival)
        case failed(errno: Int32)
    }

    func close() {
        guard isOpen else { return }
        isOpen = false
        let control = UncheckedControl(pointer: control)
        // The descriptor may be closed only after the watch has ended.
        watch.cancel { wpa_ctrl_close(control.pointer) }
    }
}

/// Passes libwpa_client's handle to the closing closure. Used on the loop only.
private struct UncheckedControl: @unchecked Sendable {
    let pointer: OpaquePointer
}
