import AgentModel
import CWpaClient
import Glibc
import Linux

/// A channel to the wpa_supplicant of one interface, made as soon as there is one, and made anew whenever it has ended.
///
/// How wpa_supplicant's death is noticed, fastest first: the kernel tells that its process ended (any death, at once);
/// its socket file goes or is replaced (an orderly exit, a restart); a command finds no process at the socket; a command
/// is not answered in time (it hangs).
@AgentLoop
final class ControlConnection {
    enum Event {
        /// A channel is there. ``ControlConnection/settle()`` says that wpa_supplicant has been told what it has to know.
        case opened(ControlChannel)
        /// An event of wpa_supplicant's, and its line.
        case told(ControlEvent, Substring)
        /// Another process answers than before, which knows nothing of what that one was told.
        case otherProcess
        /// Something has become of the socket's file while there was a channel.
        case fileChanged
        /// Nothing answers, or it does no longer. It is tried again.
        case lost
    }

    struct Timing: Sendable, Equatable {
        /// For the answer to one command.
        var requestLimit: Duration
        /// Between attempts to connect.
        var retry: BackOff
    }

    private let path: String
    private let replyDirectory: String?
    /// A change counts from the next attempt on.
    var timing: Timing
    private var onEvent: (@AgentLoop @Sendable (Event) -> Void)?

    private(set) var channel: ControlChannel?
    /// Whether what was to be told at first has been told on this channel.
    private(set) var isSettled = false
    private var process: (id: Int32, watch: ProcessWatch)?
    private var fileWatch: SocketFileWatch?
    private var retry: LoopTimer?
    /// Attempts to connect in a row that have failed.
    private var failures = 0

    /// - Parameters:
    ///   - path: of the control socket. It needs not be there yet.
    ///   - replyDirectory: where this side's socket file goes; nil for `/tmp`.
    init(path: String, replyDirectory: String?, timing: Timing) {
        (self.path, self.replyDirectory, self.timing) = (path, replyDirectory, timing)
    }

    isolated deinit { stop() }

    /// Whether the kernel tells of the death of wpa_supplicant's process.
    var isWatchingProcess: Bool { process != nil }

    /// - Parameter onEvent: called on the loop.
    func start(_ onEvent: @escaping @AgentLoop @Sendable (Event) -> Void) {
        guard self.onEvent == nil else { return }
        self.onEvent = onEvent
        fileWatch = SocketFileWatch(path: path) { [weak self] in self?.socketFileChanged() }
        connect()
    }

    /// Lets go of wpa_supplicant. No more events come.
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

    /// Ends the channel without waiting for answers, and makes another one.
    func renew() {
        channel?.close()
        channel = nil
        isSettled = false
        connect()
    }

    /// The channel is of no use: it is ended, and another one is made later.
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
            onEvent: { [weak self] event, line in self?.onEvent?(.told(event, line)) },
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

    /// The channel ended by itself: a time-out, an answer that made no sense, or no process is there any more.
    private func channelEnded() {
        guard let channel, !channel.isOpen else { return }
        // wpa_supplicant opens a new socket of its own accord when a client's queue was full. Nothing else is lost
        // then.
        isSettled ? renew() : giveUp()
    }

    /// Learns which process answers, and hears from then on when it ends.
    private func follow(_ id: Int32) {
        guard id != process?.id else { return }
        // The end of the one before may have gone unnoticed.
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

/// Tells when a socket file appears, goes or is replaced (inotify(7)).
///
/// wpa_supplicant removes the directory of its sockets together with the last of them and makes it anew at its start.
/// So where the directory is missing, its nearest ancestor is watched until it appears.
@AgentLoop
final class SocketFileWatch {
    private let path: [String]
    private let onChange: @AgentLoop @Sendable () -> Void
    private let descriptor: Int32
    private var watch: ReadWatch?
    /// The watch in force, and how many components of the path the watched directory has.
    private var watched: (descriptor: Int32, depth: Int)?

    private static let interest = UInt32(
        IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

    /// - Parameter path: absolute.
    /// - Returns: nil where the kernel has no inotify instance left.
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

    /// Watches the socket's directory, or the deepest ancestor of it that there is.
    private func watchDeepest() {
        // Once more for each directory that appears between a failed look at it and the watch over its parent.
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
                // Only then: a watch that is set anew loses what happened in between.
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

/// The events in one read from an inotify descriptor.
private struct InotifyEvents: Sequence, IteratorProtocol {
    struct Event {
        let watch: Int32
        let mask: UInt32
        /// Empty where the event is about the watched directory itself.
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
