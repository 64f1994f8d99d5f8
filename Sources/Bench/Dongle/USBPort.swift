import CLinux
import CNetlink
import Glibc
import Linux
import Synchronization

/// The dongle's end of the USB cable: a socket to the kernel's virtual host controller.
final class USBPort: Sendable {
    private let socket: Int32
    private let state = Mutex(State())

    private struct State {
        /// Transfers for incoming data that the driver has submitted, oldest first.
        var posted: [URB] = []
        var waiting: [[UInt8]] = []
        /// Control transfers that never get an answer.
        var ignored: Set<UInt32> = []
    }

    private static let controller = "/sys/devices/platform/vhci_hcd.0/attach"
    /// Numbers of the controller's high-speed ports.
    private static let ports = 0..<8
    private static let highSpeed = 3
    /// Maximum number of waiting frames. Further frames are lost.
    private static let mostWaiting = 2000

    init() throws(DongleError) {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw .refused("make a pair of sockets", errno: errno)
        }
        socket = ends[0]
        defer { close(ends[1]) }
        do throws(DongleError) {
            try Self.attach(ends[1])
        } catch {
            close(ends[0])
            throw error
        }
    }

    deinit { close(socket) }

    private static func attach(_ descriptor: Int32) throws(DongleError) {
        let file = open(controller, O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { throw .refused("open \(controller)", errno: errno) }
        defer { close(file) }
        for port in ports {
            let line = "\(port) \(descriptor) \(0x1_0002) \(highSpeed)"
            if Glibc.write(file, line, line.utf8.count) == line.utf8.count { return }
            guard errno == EBUSY else { break }
        }
        throw .refused("plug a dongle in", errno: errno)
    }

    func unplug() { _ = shutdown(socket, Int32(SHUT_RDWR)) }

    /// Waits for the driver's next request and its data.
    /// - Returns: nil after the dongle is unplugged, and for an invalid request.
    func receive() -> (USBIPRequest, ArraySlice<UInt8>)? {
        guard let header = read(USBIPRequest.headerLength), let request = try? USBIPRequest(header: header[...]),
            let payload = read(request.payloadLength)
        else { return nil }
        return (request, payload[...])
    }

    private func read(_ count: Int) -> [UInt8]? {
        guard count > 0 else { return [] }
        var isComplete = true
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let part = recv(socket, buffer.baseAddress.map { $0 + filled }, count - filled, 0)
                if part < 0, errno == EINTR { continue }
                guard part > 0 else { return isComplete = false }
                filled += part
            }
        }
        return isComplete ? bytes : nil
    }

    // MARK: Answers

    func answer(_ answer: USBIPAnswer) { state.withLock { _ in write(answer) } }

    /// Writes an answer. Lock the state during the call, so that answers do not mix.
    private func write(_ answer: USBIPAnswer) {
        // Ignore errors: after an unplug, the next read also fails.
        try? writeAll(answer.bytes, to: socket, attempting: "answer")
    }

    func post(_ urb: URB) {
        state.withLock { state in
            state.posted.append(urb)
            fill(&state)
        }
    }

    func ignore(_ urb: URB) { state.withLock { _ = $0.ignored.insert(urb.sequence) } }

    func unlink(sequence: UInt32, victim: UInt32) {
        state.withLock { state in
            let place = state.posted.firstIndex { $0.sequence == victim }
            if let place { state.posted.remove(at: place) }
            let wasIgnored = state.ignored.remove(victim) != nil
            write(.unlinked(sequence: sequence, wasPending: place != nil || wasIgnored))
        }
    }

    /// Sends a frame to the host as soon as the driver has a transfer for it.
    /// - Parameter interface: number of the driver's interface.
    func deliver(_ frame: [UInt8], from interface: UInt8 = 0) {
        state.withLock { state in
            guard state.waiting.count < Self.mostWaiting else { return }
            state.waiting.append(FrameHeader.toHost(from: interface) + frame)
            fill(&state)
        }
    }

    func forgetFrames() { state.withLock { $0.waiting = [] } }

    private func fill(_ state: inout State) {
        while let urb = state.posted.first, let frame = state.waiting.first {
            state.posted.removeFirst()
            state.waiting.removeFirst()
            write(.received(sequence: urb.sequence, Array(frame.prefix(urb.length))))
        }
    }
}
