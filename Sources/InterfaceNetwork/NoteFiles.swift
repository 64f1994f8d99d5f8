#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// One version of a note: each is another file. No clock is asked, for it may be set at any time.
public struct NoteMark: Equatable, Sendable {
    let inode: UInt64
    let seconds: Int
    let nanoseconds: Int
}

/// Where notes about networks are kept.
public struct NoteFiles: Sendable {
    /// A folder with a file for each interface, written by `board/dhcpcd/altnet-lease`.
    public let leases: String
    /// A folder of systemd-networkd with a file for each interface's index.
    public let links: String
    /// The name servers of the whole machine, resolv.conf(5).
    public let resolver: String

    public static let system = NoteFiles(
        leases: "/run/altnet/leases", links: "/run/systemd/netif/links", resolver: "/etc/resolv.conf")

    public init(leases: String, links: String, resolver: String) {
        self.leases = leases
        self.links = links
        self.resolver = resolver
    }

    /// What is noted about an interface's network, and nothing as long as nothing is. Reads it anew each time.
    ///
    /// What our hook has written counts, also if it names no server. systemd-networkd has a file for interfaces too whose
    /// network it does not see to. Where neither names a server, those of the whole machine count, but not where our hook
    /// is at work, which the folder shows: it has a note for a network in a moment, and until then the machine's servers
    /// are those of the network before.
    /// - Parameter old: what our hook had written about the network before.
    public func notes(of interface: String?, since old: NoteMark? = nil) -> NetworkNotes {
        guard let interface, Self.isName(interface) else { return machine }
        if old == nil || old != mark(of: interface), let text = Self.content(of: "\(leases)/\(interface)") {
            return NetworkNotes(assignments: text, servers: "NAME_SERVERS")
        }
        var notes = NetworkNotes()
        let index = if_nametoindex(interface)
        if index > 0, let text = Self.content(of: "\(links)/\(index)") {
            notes = NetworkNotes(assignments: text, servers: "DNS")
        }
        if notes.nameServers.isEmpty, access(leases, F_OK) != 0 { notes.nameServers = machine.nameServers }
        return notes
    }

    /// By which what our hook has written now is known again; nil if it has written nothing.
    func mark(of interface: String?) -> NoteMark? {
        guard let interface, Self.isName(interface) else { return nil }
        var status = stat()
        guard stat("\(leases)/\(interface)", &status) == 0 else { return nil }
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
