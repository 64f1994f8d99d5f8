import AgentModel
import NIOCore
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Name servers and captive portal API that a network announces.
public struct NetworkAnnouncements: Sendable, Equatable {
    /// Name servers in order of preference.
    public var nameServers: [NameServer]
    /// URL of the captive portal API (RFC 8910): up to 2048 bytes of printable ASCII, otherwise unchecked.
    public var captivePortalAPI: String?

    public init(nameServers: [NameServer] = [], captivePortalAPI: String? = nil) {
        self.nameServers = nameServers
        self.captivePortalAPI = captivePortalAPI
    }
}

/// A name server of a network.
public struct NameServer: Hashable, Sendable {
    public let address: IPAddress
    public let port: Int

    public init(_ address: IPAddress, port: Int = 53) {
        self.address = address
        self.port = port
    }
}

extension NetworkAnnouncements {
    /// Maximum number of servers. Further ones are ignored.
    public static let maximumServers = 6

    /// Reads resolv.conf(5) and skips unknown lines.
    init(resolverConfiguration text: some Collection<UInt8>) {
        self.init()
        for line in text.split(separator: UInt8(ascii: "\n")) where nameServers.count < Self.maximumServers {
            let words = line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
            if words.count > 1, words[0].elementsEqual("nameserver".utf8) { add(words[1]) }
        }
    }

    /// Reads the name servers of one link from the state that systemd-networkd keeps of it (`DNS=`). Skips unknown
    /// lines, and servers with a port.
    init(linkState text: some Collection<UInt8>) {
        self.init()
        for line in text.split(separator: UInt8(ascii: "\n")) {
            let parts = line.split(separator: UInt8(ascii: "="), maxSplits: 1)
            guard parts.count == 2, parts[0].elementsEqual("DNS".utf8) else { continue }
            for word in parts[1].split(separator: UInt8(ascii: " ")) { add(word) }
        }
    }

    /// Adds a server if it is a new one. Drops the zone of a link-local address, and the name after `#`.
    private mutating func add(_ word: some Collection<UInt8>) {
        let text = String(decoding: word, as: UTF8.self).prefix { $0 != "%" && $0 != "#" }
        guard nameServers.count < Self.maximumServers, let address = IPAddress(text) else { return }
        let server = NameServer(address)
        if !nameServers.contains(server) { nameServers.append(server) }
    }
}

/// Source of an interface's announcements.
public enum AnnouncementSource: Sendable {
    /// The agent's DHCP client supplies the announcements by ``InterfaceNetwork/setAnnouncements(_:)``.
    case supplied
    /// The machine's name servers are in this file (resolv.conf(5)). The file is read for each use.
    case machine(String)
    /// The name servers of the interface's own link are in the file of this folder that the interface's index names.
    /// The file is read for each use.
    case link(String)

    public static let system = AnnouncementSource.machine("/etc/resolv.conf")
    static let networkdLinks = AnnouncementSource.link("/run/systemd/netif/links")
}

/// Reads an interface's announcements, and waits for them in a new network.
final class AnnouncementReader: Sendable {
    private let interface: String?
    private let source: AnnouncementSource
    private let loop: any EventLoop
    private let watch: any OutsideWatch
    /// Reader to use while the link's own name servers are unknown; nil for none.
    private let fallback: AnnouncementReader?
    private let state = Mutex(State())

    private struct State {
        var announcements = NetworkAnnouncements()
        /// Promises of waiting readers, by number.
        var waiting: [UInt64: EventLoopPromise<Void>] = [:]
        var waits: UInt64 = 0
    }

    /// Polling interval. Other programs write name servers shortly after the address.
    private static let pause = TimeAmount.milliseconds(100)

    init(
        _ interface: String?, from source: AnnouncementSource, on loop: any EventLoop,
        watchedBy watch: any OutsideWatch = NoOutsideWatch()
    ) {
        (self.interface, self.source, self.loop, self.watch) = (interface, source, loop, watch)
        fallback = nil
    }

    /// Reads the name servers of an interface's own link. Without any, reads those of `other`.
    init(ofLink interface: String, from source: AnnouncementSource = .networkdLinks, else other: AnnouncementReader) {
        (self.interface, self.source, loop, watch, fallback) = (interface, source, other.loop, other.watch, other)
    }

    var announcements: NetworkAnnouncements {
        let read: () -> NetworkAnnouncements
        switch source {
        case .supplied: return state.withLock { $0.announcements }
        case .machine(let path):
            read = { NetworkAnnouncements(resolverConfiguration: Self.content(of: path) ?? []) }
        case .link(let folder):
            let index = interface.map { if_nametoindex($0) } ?? 0
            read = { NetworkAnnouncements(linkState: Self.content(of: "\(folder)/\(index)") ?? []) }
        }
        let announcements = watch.reading(OutsideSource(.resolver, interface ?? ""), read) ?? NetworkAnnouncements()
        guard let fallback, announcements.nameServers.isEmpty else { return announcements }
        return fallback.announcements
    }

    /// Replaces the announcements and wakes waiting readers.
    func set(_ announcements: NetworkAnnouncements) {
        let waiting = state.withLock { board in
            board.announcements = announcements
            defer { board.waiting = [:] }
            return board.waiting.values
        }
        for promise in waiting { promise.succeed() }
    }

    /// - Returns: the announcements when `suffices` is true, or at the deadline.
    func announcements(until end: NIODeadline, that suffices: @Sendable (NetworkAnnouncements) -> Bool) async
        -> NetworkAnnouncements
    {
        while true {
            let announcements = announcements
            guard !suffices(announcements), loop.now < end, !Task.isCancelled else { return announcements }
            switch source {
            case .supplied: await change(from: announcements, until: end)
            case .machine, .link: await loop.sleep(for: min(Self.pause, end - loop.now))
            }
        }
    }

    private func change(from announcements: NetworkAnnouncements, until end: NIODeadline) async {
        let promise = loop.makePromise(of: Void.self)
        let number = state.withLock { board -> UInt64? in
            guard board.announcements == announcements else { return nil }
            board.waits += 1
            board.waiting[board.waits] = promise
            return board.waits
        }
        guard let number else { return promise.succeed() }
        let timer = loop.scheduleTask(deadline: end) { promise.succeed() }
        await withTaskCancellationHandler {
            try? await promise.futureResult.get()
        } onCancel: {
            promise.succeed()
        }
        timer.cancel()
        state.withLock { _ = $0.waiting.removeValue(forKey: number) }
    }

    static let largest = 65_536

    /// - Returns: nil if the file is missing, too large or not regular. Never blocks on a pipe.
    private static func content(of path: String) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        var content: [UInt8] = []
        while content.count <= largest {
            var piece = [UInt8](repeating: 0, count: 4096)
            let count = read(file, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return nil }
            guard count > 0 else { return content }
            content += piece.prefix(count)
        }
        return nil
    }
}

extension EventLoop {
    /// Waits on the loop's clock. Returns early if the task is cancelled.
    func sleep(for time: TimeAmount) async {
        let end = scheduleTask(in: time) {}
        await withTaskCancellationHandler {
            try? await end.futureResult.get()
        } onCancel: {
            end.cancel()
        }
    }
}
