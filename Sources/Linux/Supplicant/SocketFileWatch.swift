import Glibc
import Linux

/// Tells when a socket file appears, goes or is replaced (inotify(7)).
///
/// wpa_supplicant removes the directory of its sockets together with the last of them and makes it anew at its start. So
/// where the directory is missing, its nearest ancestor is watched until it appears.
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
