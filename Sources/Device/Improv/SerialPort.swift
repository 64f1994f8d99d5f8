import AgentModel
import Glibc
import Linux

/// Improv over a serial line: a UART or the port of a USB gadget.
@AgentLoop
public final class SerialPort: ImprovTransport {
    private let path: String
    private let onEvent: @AgentLoop @Sendable (ImprovMachine.Event) -> Void
    private let onEnd: @AgentLoop @Sendable (SystemError) -> Void
    private var reader = ImprovSerialReader()
    private var descriptor: Int32 = -1
    private var watch: ReadWatch?

    /// - Parameters:
    ///   - path: path of the tty.
    ///   - onEnd: called after reading has failed and the port is closed.
    public init(
        path: String, onEvent: @escaping @AgentLoop @Sendable (ImprovMachine.Event) -> Void,
        onEnd: @escaping @AgentLoop @Sendable (SystemError) -> Void
    ) {
        (self.path, self.onEvent, self.onEnd) = (path, onEvent, onEnd)
    }

    /// Opens the line in raw mode, without echo and control characters.
    /// - Parameter speed: baud rate, one of ``speeds``; a USB gadget ignores it.
    /// - Throws: `SystemError` if the line cannot be opened, or for another speed.
    public func start(speed: Int) throws(SystemError) {
        let descriptor = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError("open \(path)") }
        var attributes = termios()
        guard let code = Self.speeds[speed], tcgetattr(descriptor, &attributes) == 0 else {
            let error = SystemError("set up \(path)", errno: Self.speeds[speed] == nil ? EINVAL : errno)
            close(descriptor)
            throw error
        }
        cfmakeraw(&attributes)
        cfsetspeed(&attributes, speed_t(code))
        attributes.c_cflag |= tcflag_t(CLOCAL | CREAD)
        guard tcsetattr(descriptor, TCSANOW, &attributes) == 0 else {
            let error = SystemError("set up \(path)")
            close(descriptor)
            throw error
        }
        self.descriptor = descriptor
        watch = ReadWatch(fileDescriptor: descriptor) { [weak self] in self?.receive() }
    }

    public nonisolated static let speeds: [Int: Int32] = [
        9600: Int32(B9600), 19_200: Int32(B19200), 38_400: Int32(B38400), 57_600: Int32(B57600),
        115_200: Int32(B115200), 230_400: Int32(B230400), 460_800: Int32(B460800), 921_600: Int32(B921600),
    ]

    public func end() {
        guard let watch else { return }
        self.watch = nil
        watch.cancel { [descriptor] in close(descriptor) }
    }

    public func send(_ state: ImprovState) {
        // A serial line needs no authorisation, because a client has access to the cable.
        send(ImprovSerialPacket.state(state == .authorizationRequired ? .authorized : state))
    }
    public func send(_ error: ImprovError) { send(ImprovSerialPacket.error(error)) }
    public func send(_ result: ImprovResult) { send(ImprovSerialPacket.result(result)) }
    public func advertise(_ isWanted: Bool) {}
    public func rename(_ name: String) {}

    /// Sends bytes. Drops bytes that the other end does not read in time.
    private func send(_ bytes: [UInt8]) {
        guard watch != nil else { return }
        _ = write(descriptor, bytes, bytes.count)
    }

    private func receive() {
        var buffer = [UInt8](repeating: 0, count: 1024)
        let count = read(descriptor, &buffer, buffer.count)
        if count < 0, errno == EAGAIN || errno == EINTR { return }
        guard count > 0 else {
            let error = SystemError("read \(path)", errno: count < 0 ? errno : EIO)
            end()
            return onEnd(error)
        }
        for found in reader.add(buffer.prefix(count)) {
            switch found {
            case .success(let command): onEvent(.command(command))
            case .failure(let error): onEvent(.refused(error))
            }
        }
    }
}
