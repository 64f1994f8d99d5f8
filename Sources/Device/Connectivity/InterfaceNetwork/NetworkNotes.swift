import AgentModel
import NIOCore
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The settings that a network gives a device that joins it, as the DHCP client has noted it down.
public struct NetworkNotes: Sendable, Equatable {
    /// In the order in which they are to be asked.
    public var nameServers: [NameServer]
    /// The captive portal API's URL (RFC 8910); up to 2048 bytes of printable ASCII, otherwise
    /// unchecked.
    public var captivePortalAPI: String?

    public init(nameServers: [NameServer] = [], captivePortalAPI: String? = nil) {
        self.nameServers = nameServers
        self.captivePortalAPI = captivePortalAPI
    }
}

/// A name server.
public struct NameServer: Hashable, Sendable {
    public let address: IPAddress
    public let port: Int

    public init(_ address: IPAddress, port: Int = 53) {
        self.address = address
        self.port = port
    }
}

extension NetworkNotes {
    /// More are not asked: a network has two or three.
    static let maximumServers = 6
    static let longestURL = 2048
    /// The value of a network without a captive portal (RFC 8910, 2).
    private static let unrestricted = "urn:ietf:params:capport:unrestricted"

    /// Reads lines of `KEY=value`, such as our hook for dhcpcd writes and systemd-networkd; what is not understood is
    /// stepped over, and of a key that comes twice the last counts, as in a shell.
    /// - Parameter servers: the key of the name servers.
    init(assignments text: some Collection<UInt8>, servers: String) {
        self.init()
        for (key, value) in Self.assignments(text) {
            switch key {
            case servers: nameServers = Self.servers(Self.words(value))
            case "CAPTIVE_PORTAL": captivePortalAPI = Self.url(value)
            default: break
            }
        }
    }

    /// Reads what systemd-networkd notes of a link. While the link leads nowhere that is nothing: what it had before it
    /// may keep for some seconds (`IgnoreCarrierLoss=`), and writes it anew with each change.
    init(link text: some Collection<UInt8>) {
        self.init(assignments: text, servers: "DNS")
        let states = Self.assignments(text).filter { $0.key == "OPER_STATE" }
        if let state = states.last, !state.value.elementsEqual("routable".utf8) { self.init() }
    }

    private static func assignments<Text: Collection<UInt8>>(
        _ text: Text
    ) -> [(key: String, value: Text.SubSequence)] {
        lines(text).compactMap { line in
            line.firstIndex(of: UInt8(ascii: "=")).map { equals in
                (String(decoding: line[..<equals], as: UTF8.self), line[line.index(after: equals)...])
            }
        }
    }

    /// Reads what resolv.conf(5) describes.
    init(resolverConfiguration text: some Collection<UInt8>) {
        let servers = Self.lines(text).compactMap { line -> String? in
            let words = Self.words(line)
            return words.first == "nameserver" ? words.dropFirst().first : nil
        }
        self.init(nameServers: Self.servers(servers))
    }

    private static func lines<Text: Collection<UInt8>>(_ text: Text) -> [Text.SubSequence] {
        text.split(separator: UInt8(ascii: "\n"))
    }

    private static func words(_ line: some Collection<UInt8>) -> [String] {
        line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }.map { String(decoding: $0, as: UTF8.self) }
    }

    private static func servers(_ words: [String]) -> [NameServer] {
        var servers: [NameServer] = []
        for word in words {
            guard servers.count < maximumServers, let server = NameServer(word), !servers.contains(server) else {
                continue
            }
            servers.append(server)
        }
        return servers
    }

    private static func url(_ value: some Collection<UInt8>) -> String? {
        let text = String(decoding: value, as: UTF8.self)
        guard (1...longestURL).contains(value.count), value.allSatisfy({ (0x21...0x7e).contains($0) }),
            text.lowercased() != unrestricted
        else { return nil }
        return text
    }
}

extension NameServer {
    /// Reads `ADDRESS`, or as resolved.conf(5) has it `ADDRESS:PORT%INTERFACE#NAME`, IPv6 addresses before a port in
    /// brackets. Interface and name are left out.
    init?(_ text: String) {
        let text = text.prefix { $0 != "#" }
        if let address = IPAddress(text) {
            self.init(address)
            return
        }
        let place = text.prefix { $0 != "%" }
        guard let colon = place.lastIndex(of: ":"), let port = UInt16(place[place.index(after: colon)...]), port > 0
        else { return nil }
        let host = place[..<colon]
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        guard let address = IPAddress(isBracketed ? host.dropFirst().dropLast() : host),
            (address.family == .ipv4) != isBracketed
        else { return nil }
        self.init(address, port: Int(port))
    }
}

/// One version of a note: each is another file. No clock is asked, for it may be set at any time.
public struct NoteMark: Equatable, Sendable {
    let inode: UInt64
    let seconds: Int
    let nanoseconds: Int
}

/// Versions of the notes about an interface's network.
public struct NoteMarks: Equatable, Sendable {
    /// The version of our hook's notes; nil for none.
    let lease: NoteMark?
    /// The version of systemd-networkd's.
    let link: NoteMark?
}

/// The files with notes about networks.
public struct NoteFiles: Sendable {
    /// A folder with a file for each interface, written by `board/dhcpcd/altnet-lease`. It is root's alone, for root
    /// writes there: in a folder of the agent's, an agent that was taken over could have it write elsewhere, by a link.
    public let leases: String
    /// A folder of systemd-networkd with a file for each interface's index.
    public let links: String
    /// The name servers of the whole machine, resolv.conf(5).
    public let resolver: String

    public static let system = NoteFiles(
        leases: "/run/altnet-leases", links: "/run/systemd/netif/links", resolver: "/etc/resolv.conf")

    public init(leases: String, links: String, resolver: String) {
        self.leases = leases
        self.links = links
        self.resolver = resolver
    }

    /// The notes about an interface's network; empty while there are none. Reads the files anew each time.
    ///
    /// The note of altnet's hook counts, also if it names no server. systemd-networkd has a file for interfaces too
    /// whose network it does not see to. If neither names a server, those of the whole machine count, but not where our
    /// hook is at work, which the folder shows: it has a note for a network in a moment, and until then the machine's
    /// servers are those of the network before. Nor where systemd-networkd had servers for the network before and has
    /// not written anything since.
    /// - Parameter old: what was noted about the network before.
    public func notes(of interface: String?, since old: NoteMarks? = nil) -> NetworkNotes {
        guard let interface, Self.isName(interface) else { return machine }
        if let note = note(at: leasePath(interface), since: old?.lease), note.isNew {
            return NetworkNotes(assignments: note.text, servers: "NAME_SERVERS")
        }
        var notes = NetworkNotes()
        if let path = linkPath(interface), let note = note(at: path, since: old?.link) {
            let told = NetworkNotes(link: note.text)
            guard note.isNew || told.nameServers.isEmpty else { return notes }
            if note.isNew { notes = told }
        }
        if notes.nameServers.isEmpty, access(leases, F_OK) != 0 { notes.nameServers = machine.nameServers }
        return notes
    }

    /// By which what is noted now is known again.
    func marks(of interface: String?) -> NoteMarks? {
        guard let interface, Self.isName(interface) else { return nil }
        return NoteMarks(
            lease: Self.mark(of: leasePath(interface)), link: linkPath(interface).flatMap { Self.mark(of: $0) })
    }

    private func leasePath(_ interface: String) -> String { "\(leases)/\(interface)" }

    private func linkPath(_ interface: String) -> String? {
        let index = if_nametoindex(interface)
        return index > 0 ? "\(links)/\(index)" : nil
    }

    /// - Returns: nil if nothing is noted there.
    private func note(at path: String, since old: NoteMark?) -> (text: [UInt8], isNew: Bool)? {
        // Before reading: a note written meanwhile is new.
        let mark = Self.mark(of: path)
        return Self.content(of: path).map { ($0, old == nil || old != mark) }
    }

    private static func mark(of path: String) -> NoteMark? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return NoteMark(
            inode: UInt64(status.st_ino), seconds: Int(status.st_mtim.tv_sec), nanoseconds: Int(status.st_mtim.tv_nsec))
    }

    private var machine: NetworkNotes {
        NetworkNotes(resolverConfiguration: Self.content(of: resolver) ?? [])
    }

    static let largest = 65_536

    /// A name of an interface (dev_valid_name of Linux), which leads to no other folder.
    private static func isName(_ name: String) -> Bool {
        (1...15).contains(name.utf8.count) && name != "." && name != ".." && !name.utf8.contains(UInt8(ascii: "/"))
            && !name.utf8.contains(0)
    }

    /// - Returns: nil for what does not exist, is too large or is no file; it never waits for a pipe.
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

/// Reads what is noted about one interface's network, and waits for it where the network is too new.
final class NoteReader: Sendable {
    private let interface: String?
    private let files: NoteFiles
    private let loop: any EventLoop
    private let watch: any OutsideWatch
    /// The notes about the network before.
    private let old = Mutex<NoteMarks?>(nil)

    /// A DHCP client writes its note some milliseconds after the address is there.
    private static let pause = TimeAmount.milliseconds(100)

    /// - Parameter loop: measures the time in which notes are waited for.
    init(
        _ interface: String?, _ files: NoteFiles, on loop: any EventLoop,
        watchedBy watch: any OutsideWatch = NoOutsideWatch()
    ) {
        self.interface = interface
        self.files = files
        self.loop = loop
        self.watch = watch
    }

    var notes: NetworkNotes {
        watch.reading(OutsideSource(.leaseNotes, interface ?? "")) {
            files.notes(of: interface, since: old.withLock { $0 })
        } ?? NetworkNotes()
    }

    /// Declares the present notes outdated, because the network is left, or valid.
    func disregardNotes(_ areOld: Bool) {
        let marks = areOld ? files.marks(of: interface) : nil
        old.withLock { $0 = marks }
    }

    /// - Returns: what is noted as soon as it will do, or at the end of the time.
    func notes(until end: NIODeadline, that suffices: @Sendable (NetworkNotes) -> Bool) async -> NetworkNotes {
        while true {
            let notes = notes
            guard !suffices(notes), loop.now + Self.pause < end, !Task.isCancelled else {
                return notes
            }
            await loop.sleep(for: Self.pause)
        }
    }
}

extension EventLoop {
    /// Waits by the loop's clock, and no longer where the task is cancelled.
    func sleep(for time: TimeAmount) async {
        let end = scheduleTask(in: time) {}
        await withTaskCancellationHandler {
            try? await end.futureResult.get()
        } onCancel: {
            end.cancel()
        }
    }
}
