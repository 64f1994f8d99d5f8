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
            guard words.count > 1, words[0].elementsEqual("nameserver".utf8),
                // Drops the zone of a link-local address.
                let address = IPAddress(String(decoding: words[1], as: UTF8.self).prefix { $0 != "%" })
            else { continue }
            let server = NameServer(address)
            if !nameServers.contains(server) { nameServers.append(server) }
        }
    }
}

/// Source of an interface's announcements.
public enum AnnouncementSource: Sendable {
    /// The agent's DHCP client supplies the announcements by ``InterfaceNetwork/setAnnouncements(_:)``.
    case supplied
    /// The machine's name servers are in this file (resolv.conf(5)). The file is read for each use.
    case machine(String)

    public static let system = AnnouncementSource.machine("/etc/resolv.conf")
}

/// Reads an interface's announcements, and waits for them in a new network.
final class AnnouncementReader: Sendable {
    private let interface: String?
    private let source: AnnouncementSource
    private let loop: any EventLoop
    private let watch: any OutsideWatch
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
    }

    var announcements: NetworkAnnouncements {
        guard case .machine(let path) = source else { return state.withLock { $0.announcements } }
        return watch.reading(OutsideSource(.resolver, interface ?? "")) {
            NetworkAnnouncements(resolverConfiguration: Self.content(of: path) ?? [])
        } ?? NetworkAnnouncements()
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
            case .machine: await loop.sleep(for: min(Self.pause, end - loop.now))
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
