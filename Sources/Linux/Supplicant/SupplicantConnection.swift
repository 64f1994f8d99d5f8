import AgentModel
import CWpaClient
import Glibc
import Linux

// How wpa_supplicant's death is noticed, fastest first: the kernel tells that its process ended (any death, at once);
// its socket file goes or is replaced (an orderly exit, a restart); a command finds no process at the socket; a command
// is not answered in time (it hangs). The supervision asks for no reason now and then, for the last two.

extension Supplicant {
    func connect() {
        guard isStarted, channel == nil else { return }
        retry = nil
        let handlers = ControlChannel.Handlers(
            onEvent: { [weak self] event, line in self?.handle(event, line) },
            onPeer: { [weak self] process in self?.follow(process) },
            onEnd: { [weak self] in self?.channelEnded() })
        do throws(SupplicantError) {
            let channel = try ControlChannel(
                path: controlSocket, replyDirectory: replyDirectory, requestLimit: timing.requestLimit,
                handlers: handlers)
            self.channel = channel
            Task { await greet(channel) }
        } catch {
            unreachable()
        }
    }

    func disconnect() {
        channel?.close()
        channel = nil
        isGreeted = false
        supervision = nil
        process?.watch.close()
        process = nil
    }

    func socketFileChanged() {
        if channel == nil {
            failures = 0
            connect()
        } else {
            examine()
        }
    }

    /// Has wpa_supplicant send its events and leave all decisions to us, and learns what it can and what it does.
    private func greet(_ channel: ControlChannel) async {
        do throws(SupplicantError) {
            try await channel.ask(.attach)
            try await channel.ask(ControlCommand("STA_AUTOCONNECT 0"))
            // Both ways to derive SAE's password element (IEEE 802.11-2020, 12.4.4): some access points know only one.
            try await channel.askLeniently(ControlCommand("SET sae_pwe 2"))
            // Whatever an agent before this one has said last.
            try await channel.askLeniently(ControlCommand("AP_SCAN 1"))
            joinsUnseen = false
            // Without a value: whatever its configuration file says, it scans only to join.
            try await channel.askLeniently(ControlCommand("AUTOSCAN "))
            if let country { try await channel.askLeniently(ControlCommand("SET country \(country)")) }
            let keyManagement = try await channel.words(.keyManagement)
            let ciphers = try await channel.words(.ciphers)
            try await channel.ask(.status) { [self] answer in adopt(answer) }
            if !isAvailable, link == nil { try await channel.forgetNetworks() }
            guard self.channel === channel else { return }
            (self.keyManagement, self.ciphers) = (keyManagement, ciphers)
            isGreeted = true
            failures = 0
            supervise()
            becomeAvailable()
        } catch .refused {
            if self.channel === channel { unreachable() }
        } catch {
            // The channel ended by itself, and says so.
        }
    }

    /// The channel ended by itself: a time-out, an answer that made no sense, or no process is there any more.
    private func channelEnded() {
        guard let channel, !channel.isOpen else { return }
        guard isGreeted else { return unreachable() }
        // wpa_supplicant opens a new socket of its own accord when a client's queue was full. Nothing else is lost
        // then.
        self.channel = nil
        isGreeted = false
        supervision = nil
        connect()
    }

    /// The interface is gone: a join under way is over, and what wpa_supplicant was asked is not waited for, as it may be
    /// held up in the kernel. The connection to it is made anew.
    public func interfaceRemoved() {
        link = nil
        if let attempt {
            end(attempt, .joinFailed(attempt: attempt.number, .interfaceDown, detail: "the interface is gone"))
        }
        guard let channel, isGreeted, channel.isAsking else { return }
        channel.close()
        self.channel = nil
        isGreeted = false
        supervision = nil
        connect()
    }

    /// Try again later.
    private func unreachable() {
        disconnect()
        becomeUnavailable()
        guard isStarted else { return }
        let wait = timing.retry.wait(after: failures)
        failures += 1
        retry = LoopTimer(after: wait, leeway: wait / 10) { [weak self] in self?.connect() }
    }

    /// Takes in a status at its place between the events.
    private func adopt(_ answer: ControlAnswer) {
        guard case .text(let text) = answer else { return }
        let status = SupplicantStatus(text)
        if isAvailable {
            reconcile(status)
        } else {
            link = status.link
        }
    }

    private func becomeAvailable() {
        guard !isAvailable else { return }
        isAvailable = true
        onEvent(.available)
    }

    private func becomeUnavailable() {
        link = nil
        if let attempt {
            let detail = "wpa_supplicant went away"
            end(attempt, .joinFailed(attempt: attempt.number, .supplicantUnavailable, detail: detail))
        }
        guard isAvailable else { return }
        isAvailable = false
        onEvent(.unavailable)
    }

    /// Learns which process answers, and hears from then on when it ends.
    private func follow(_ id: Int32) {
        guard id != process?.id else { return }
        // A new process knows nothing of what the old one was told, even if its end went unnoticed.
        if let process {
            process.watch.close()
            keyed = []
            becomeUnavailable()
        }
        process = ProcessWatch(process: id) { [weak self] in self?.processEnded() }.map { (id, $0) }
    }

    private func processEnded() {
        failures = 0
        unreachable()
    }

    func supervise() {
        let interval = process == nil || attempt != nil ? timing.closeSupervision : timing.supervision
        supervision = LoopTimer(every: interval) { [weak self] in self?.examine() }
    }

    /// Sees whether wpa_supplicant is still there and where its events said it was.
    private func examine() {
        guard let channel, isGreeted else { return }
        AgentLoop.begin { [self] in
            _ = try? await channel.ask(.status) { [self] answer in adopt(answer) }
            guard self.channel === channel, isGreeted else { return }
            supervise()
        }
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
