import AgentModel
import CWpaClient
import Glibc
import Linux

/// Keeps a channel to an interface's wpa_supplicant, and reconnects after each end. Detects the end of wpa_supplicant
/// in four ways, fastest first: its process ends (pidfd), its socket file is removed or replaced, a command finds no
/// process, or an answer is late.
@AgentLoop
final class ControlConnection {
    enum Event {
        /// A new channel is open. Call ``ControlConnection/settle()`` after its setup.
        case opened(ControlChannel)
        case received(ControlEvent, Substring)
        /// Another process answers. It does not have the settings of the former one.
        case otherProcess
        /// The socket's file changed while a channel was open.
        case fileChanged
        /// wpa_supplicant does not answer. The connection attempts continue.
        case lost
    }

    struct Timing: Sendable, Equatable {
        /// Time limit for the answer to a command.
        var requestLimit: Duration
        /// Wait between connection attempts.
        var retry: BackOff
    }

    private let path: String
    private let replyDirectory: String?
    /// Time limits. A change applies from the next connection attempt.
    var timing: Timing
    private var onEvent: (@AgentLoop @Sendable (Event) -> Void)?

    private(set) var channel: ControlChannel?
    /// True after the setup of this channel.
    private(set) var isSettled = false
    private var process: (id: Int32, watch: ProcessWatch)?
    private var fileWatch: SocketFileWatch?
    private var retry: LoopTimer?
    /// Number of failed connection attempts in a row.
    private var failures = 0

    /// - Parameters:
    ///   - path: path of the control socket; may appear later.
    ///   - replyDirectory: folder of this side's socket file; nil for `/tmp`.
    init(path: String, replyDirectory: String?, timing: Timing) {
        (self.path, self.replyDirectory, self.timing) = (path, replyDirectory, timing)
    }

    isolated deinit { stop() }

    /// True if the kernel reports the end of wpa_supplicant's process.
    var isWatchingProcess: Bool { process != nil }

    func start(_ onEvent: @escaping @AgentLoop @Sendable (Event) -> Void) {
        guard self.onEvent == nil else { return }
        self.onEvent = onEvent
        fileWatch = SocketFileWatch(path: path) { [weak self] in self?.socketFileChanged() }
        connect()
    }

    func stop() {
        onEvent = nil
        disconnect()
        fileWatch?.close()
        fileWatch = nil
        retry = nil
        failures = 0
    }

    func settle() {
        isSettled = true
        failures = 0
    }

    /// Replaces the channel at once, without waiting for answers.
    func renew() {
        channel?.close()
        channel = nil
        isSettled = false
        connect()
    }

    /// Ends the channel and reconnects after a wait.
    func giveUp() {
        disconnect()
        onEvent?(.lost)
        guard onEvent != nil else { return }
        let wait = timing.retry.wait(after: failures)
        failures += 1
        retry = LoopTimer(after: wait, leeway: wait / 10) { [weak self] in self?.connect() }
    }

    private func connect() {
        guard onEvent != nil, channel == nil else { return }
        retry = nil
        let handlers = ControlChannel.Handlers(
            onEvent: { [weak self] event, line in self?.onEvent?(.received(event, line)) },
            onPeer: { [weak self] process in self?.follow(process) },
            onEnd: { [weak self] in self?.channelEnded() })
        do throws(SupplicantError) {
            let channel = try ControlChannel(
                path: path, replyDirectory: replyDirectory, requestLimit: timing.requestLimit, handlers: handlers)
            self.channel = channel
            onEvent?(.opened(channel))
        } catch {
            giveUp()
        }
    }

    private func disconnect() {
        channel?.close()
        channel = nil
        isSettled = false
        process?.watch.close()
        process = nil
    }

    private func socketFileChanged() {
        guard channel == nil else { return onEvent?(.fileChanged) ?? () }
        failures = 0
        connect()
    }

    /// Reconnects after the channel has ended by a time-out, a wrong answer or the loss of the process.
    private func channelEnded() {
        guard let channel, !channel.isOpen else { return }
        // Replaces a settled channel at once: wpa_supplicant opens a new socket after a client's queue was full, and
        // keeps its settings and links.
        isSettled ? renew() : giveUp()
    }

    /// Watches the process that answers.
    private func follow(_ id: Int32) {
        guard id != process?.id else { return }
        // The former process may have ended unnoticed.
        if let process {
            process.watch.close()
            onEvent?(.otherProcess)
            guard onEvent != nil else { return self.process = nil }
        }
        process = ProcessWatch(process: id) { [weak self] in self?.processEnded() }.map { (id, $0) }
    }

    private func processEnded() {
        failures = 0
        giveUp()
    }
}

/// Detects when a socket file appears, disappears or is replaced (inotify(7)). wpa_supplicant removes the socket
/// directory with its last socket. While the directory is missing, watches its nearest existing ancestor.
@AgentLoop
final class SocketFileWatch {
    private let path: [String]
    private let onChange: @AgentLoop @Sendable () -> Void
    private let descriptor: Int32
    private var watch: ReadWatch?
    /// Current watch, and the number of path components of its directory.
    private var watched: (descriptor: Int32, depth: Int)?

    private static let interest = UInt32(
        IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

    /// - Parameter path: absolute path.
    /// - Returns: nil if the kernel has no inotify instance left.
    init?(path: String, onChange: @escaping @AgentLoop @Sendable () -> Void) {
        self.path = path.split(separator: "/").map(String.init)
        self.onChange = onChange
        descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
        guard descriptor >= 0 else { return nil }
        watch = ReadWatch(fileDescriptor: descriptor) { [weak self] in self?.read() }
        watchDeepest()
    }

    func close() {
        let descriptor = descriptor
        watch?.cancel { _ = Glibc.close(descriptor) }
        watch = nil
    }

    /// Watches the socket's directory, or its deepest existing ancestor.
    private func watchDeepest() {
        // Repeats if a directory appears between its failed watch and the watch of its parent.
        for _ in path {
            if let watched { inotify_rm_watch(descriptor, watched.descriptor) }
            watched = nil
            for depth in stride(from: path.count - 1, through: 0, by: -1) where watched == nil {
                let added = inotify_add_watch(descriptor, directory(depth), Self.interest)
                if added >= 0 { watched = (added, depth) }
            }
            guard let watched, watched.depth < path.count - 1, access(directory(watched.depth + 1), F_OK) == 0
            else { return }
        }
    }

    private func directory(_ depth: Int) -> String { "/" + path.prefix(depth).joined(separator: "/") }

    private func read() {
        var isChanged = false
        var isMisplaced = false
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let length = Glibc.read(descriptor, &buffer, buffer.count)
            guard length > 0 else { break }
            for event in InotifyEvents(buffer[..<length]) where isRelevant(event) {
                isChanged = true
                // Moves the watch only if needed, because a replaced watch misses events in between.
                if event.name.isEmpty || watched?.depth != path.count - 1 { isMisplaced = true }
            }
        }
        if isMisplaced { watchDeepest() }
        if isChanged { onChange() }
    }

    private func isRelevant(_ event: InotifyEvents.Event) -> Bool {
        if event.mask & UInt32(IN_Q_OVERFLOW) != 0 { return true }
        guard let watched, event.watch == watched.descriptor else { return false }
        return event.name.isEmpty || event.name.elementsEqual(path[watched.depth].utf8)
    }
}

private struct InotifyEvents: Sequence, IteratorProtocol {
    struct Event {
        let watch: Int32
        let mask: UInt32
        /// Name of the file; empty for events of the watched directory.
        let name: ArraySlice<UInt8>
    }

    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    mutating func next() -> Event? {
        let headerLength = MemoryLayout<inotify_event>.size
        guard rest.count >= headerLength else { return nil }
        let header = rest.withUnsafeBytes { $0.loadUnaligned(as: inotify_event.self) }
        let name = rest.dropFirst(headerLength).prefix(Int(header.len))
        rest = rest.dropFirst(headerLength + Int(header.len))
        return Event(watch: header.wd, mask: header.mask, name: name.prefix { $0 != 0 })
    }
}

/// Detects the end of a process (pidfd_open(2)). Datagram sockets do not report it, and a killed process leaves its
/// socket file.
@AgentLoop
final class ProcessWatch {
    private let descriptor: Int32
    private let watch: ReadWatch

    /// - Returns: nil if the process is gone or cannot be watched.
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
