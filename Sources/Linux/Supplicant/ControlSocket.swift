import AgentModel
import CWpaClient
import Glibc
import Linux

/// A connected, non-blocking control socket of wpa_supplicant: one datagram is one command, one reply or one event.
///
/// libwpa_client makes the connection. Its `wpa_ctrl_request` would block for up to 10 s, so datagrams are sent and
/// received here.
@AgentLoop
final class ControlSocket {
    /// More than wpa_supplicant ever sends in one datagram (hostap 2.10: replies have at most 4096 bytes).
    static let maximumLength = 8192

    /// A message that arrived, and the process that sent it: 0 if the kernel does not tell.
    enum Arrival {
        case datagram(ArraySlice<UInt8>, sender: Int32)
        case oversized
    }

    private let fileDescriptor: Int32
    private let watch: ReadWatch
    private let control: OpaquePointer
    private var isOpen = true

    /// - Parameters:
    ///   - path: wpa_supplicant's socket file.
    ///   - replyDirectory: where this side's socket file is put, which wpa_supplicant must be able to reach; nil for
    ///     libwpa_client's own choice.
    init(
        path: String, replyDirectory: String?, onReadable: @escaping @AgentLoop @Sendable () -> Void
    ) throws(SupplicantError) {
        errno = 0
        guard let control = wpa_ctrl_open2(path, replyDirectory) else {
            throw .system(SystemError("connect to \(path)"))
        }
        self.control = control
        fileDescriptor = wpa_ctrl_get_fd(control)
        // libwpa_client leaves it open across exec.
        _ = fcntl(fileDescriptor, F_SETFD, FD_CLOEXEC)
        // If this fails the sender stays unknown, and the slower supervision takes its place.
        _ = wpa_client_ask_for_senders(fileDescriptor)
        watch = ReadWatch(fileDescriptor: fileDescriptor, onReadable: onReadable)
    }

    func send(_ datagram: UnsafeRawBufferPointer) throws(SupplicantError) {
        guard isOpen else { throw .unavailable }
        guard Glibc.send(fileDescriptor, datagram.baseAddress, datagram.count, Int32(MSG_DONTWAIT)) >= 0
        else { throw .system(SystemError("send to wpa_supplicant")) }
    }

    /// The next datagram that is there already, or nil.
    func receive() throws(SupplicantError) -> Arrival? {
        guard isOpen else { return nil }
        // Kept, it would be memory for ever.
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
        // The descriptor may only be closed once the loop watches it no longer.
        watch.cancel { wpa_ctrl_close(control.pointer) }
    }
}

/// Carries libwpa_client's handle into the closure that closes it. It is used on the loop only.
private struct UncheckedControl: @unchecked Sendable {
    let pointer: OpaquePointer
}
